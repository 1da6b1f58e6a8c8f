// Numbers for people.

/**
 * A cost or a number of rows with as many digits as it takes to tell bounds apart; as memo_viz/words.py writes it.
 * @param {number | string} value
 */
export function figure(value) {
  const number = Number(value === "inf" ? Infinity : value);
  if (!Number.isFinite(number)) return "∞";
  const size = Math.abs(number);
  if (size >= 1e9 || (size > 0 && size < 0.01)) return significant(number, 4);
  const [whole, part] = hundredths(number).split(".");
  const digits = part.replace(/0+$/, "");
  return thousands(whole) + (digits ? "." + digits : "");
}

/** The same for places with little room: whole numbers, as optimizer/algebra/printing.py writes them.
 * @param {number | null | undefined} value */
export function rounded(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 1e9 && Number.isFinite(value)) return significant(value, 3);
  return Math.abs(value) >= 10 && Number.isFinite(value) ? thousands(Math.round(value).toString()) : figure(value);
}

/** @param {number} value */
export function count(value) {
  return thousands(String(value));
}

/** `1 row`, `12 rows`: a figure and what it counts.
 * @param {string} shown @param {string} noun */
export function many(shown, noun) {
  return `${shown} ${noun}${shown === "1" ? "" : "s"}`;
}

/** @param {string} digits */
const thousands = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** Two places behind the point, the middle between two going to the even one.
 * @param {number} value */
function hundredths(value) {
  const hundred = value * 100;
  const below = Math.floor(hundred);
  const middle = Number.isInteger(value * 8) && hundred - below === 0.5;
  return middle ? ((below + Math.abs(below % 2)) / 100).toFixed(2) : value.toFixed(2);
}

/** So many digits, the middle between two going to the even one.
 * @param {number} value @param {number} digits */
function significant(value, digits) {
  const exact = value.toExponential(100);
  const middle = new RegExp(`^-?\\d\\.\\d{${digits - 2}}[02468]50*e`).test(exact);
  const [mantissa, exponent] = (middle ? exact.replace(/50*e/, "e") : value.toExponential(digits - 1)).split("e");
  if (Number(exponent) >= -4 && Number(exponent) < digits) return String(Number(`${mantissa}e${exponent}`));
  const sign = exponent.startsWith("-") ? "-" : "+";
  return `${Number(mantissa)}e${sign}${exponent.replace(/^[+-]/, "").padStart(2, "0")}`;
}
