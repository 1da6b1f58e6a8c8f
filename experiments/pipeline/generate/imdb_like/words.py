"""Lists of words that texts are made of, and texts that are common in IMDB's columns."""

from __future__ import annotations

# fmt: off
GIVEN = (
    "Angela", "Robert", "Maria", "Albert", "Anna", "Xavier", "Zoe", "Bertram", "Linda", "David", "Andrew", "Susan", "Bernd",
    "Angelo", "Yan", "Carla", "Dirk", "Emma", "Felix", "Greta", "Hans", "Ines", "Juan", "Karen", "Lars", "Mona", "Nora",
    "Oscar", "Paula", "Quentin", "Rosa", "Simon", "Tanja", "Umberto", "Vera", "Walter", "Xenia", "Yusuf", "Zachary", "Bella",
    "Boris", "Brian", "Bianca", "Dana", "Daniel", "Elena", "Frank", "Gloria", "Henry", "Irene", "Jack", "Kenji", "Laura",
    "Mary", "Nick", "Olga", "Peter", "Rita", "Sean", "Tomas",
)
SURNAMES = (
    "Angermann", "Brandt", "Chen", "Dubois", "Evans", "Ferrari", "Garcia", "Hoffmann", "Ivanov", "Jensen", "Kim", "Lopez",
    "Martin", "Nakamura", "Olsen", "Petrov", "Quinn", "Rossi", "Smith", "Tanaka", "Ueda", "Vega", "Weber", "Xu", "Young",
    "Zhang", "Adams", "Baker", "Clark", "Diaz", "Ellis", "Fischer", "Green", "Hill", "Ito", "Jones", "Klein", "Lee", "Moore",
    "Nguyen", "Ortiz", "Park", "Ramos", "Schmidt", "Turner", "Urban", "Vogel", "Wagner", "Yamada", "Ziegler", "Anders",
    "Bertrand", "Carver", "Daniels", "Berg", "Bloom", "Zimmer", "Xavier",
)
ADJECTIVES = (
    "Silent", "Golden", "Lost", "Broken", "Red", "Hidden", "Last", "First", "Dark", "Bright", "Little", "Great", "Wild",
    "Frozen", "Secret", "Distant", "Empty", "Final", "Sweet", "Burning", "Crooked", "Quiet", "Deadly", "Eternal", "Faithful",
    "Gentle", "Hollow", "Invisible", "Young", "Old",
)
NOUNS = (
    "River", "Money", "Champion", "Vampire", "Freddy", "Jason", "Loser", "Summer", "Night", "City", "Garden", "Train",
    "Letter", "Mirror", "Storm", "Island", "Dream", "Voyage", "Shadow", "House", "Road", "Winter", "Morning", "Stranger",
    "Ocean", "Mountain", "Promise", "Harbour", "Circus", "Window", "Bridge", "Dragon", "Murder", "Violence", "Blood",
    "Revenge",
)
PLACES = (
    "Berlin", "London", "Paris", "Tokyo", "Oslo", "Rome", "Madrid", "Vienna", "Lisbon", "Prague", "Dublin", "Athens",
    "Warsaw", "Helsinki", "Sofia", "Boston", "Chicago", "Austin", "Denver", "Seattle", "Mumbai", "Delhi", "Cairo", "Lagos",
    "Sydney", "Perth", "Toronto", "Lima", "Bogota", "Quito",
)
COUNTRIES = (
    "USA", "UK", "Germany", "France", "Canada", "Japan", "Italy", "Spain", "India", "Australia", "Sweden", "Norway",
    "Denmark", "Bulgaria", "Netherlands", "Finland", "Poland", "Belgium", "Austria", "Switzerland", "Brazil", "Mexico",
    "Argentina", "Hungary", "Greece", "Ireland", "Portugal", "Russia", "China", "Hong Kong", "South Korea", "Turkey",
)
LANGUAGES = (
    "English", "German", "French", "Spanish", "Japanese", "Italian", "Swedish", "Norwegian", "Danish", "Dutch", "Polish",
    "Bulgarian", "Portuguese", "Russian", "Mandarin", "Cantonese", "Hindi", "Korean", "Finnish", "Hungarian", "Greek",
    "Turkish", "Arabic", "Hebrew", "Czech",
)
GENRES = (
    "Drama", "Comedy", "Short", "Documentary", "Action", "Thriller", "Romance", "Horror", "Crime", "Adventure", "Family",
    "Sci-Fi", "Animation", "Western", "Music", "Mystery", "Fantasy", "War", "Musical", "Biography", "History", "Sport",
    "Adult", "News", "Reality-TV", "Talk-Show", "Game-Show", "Film-Noir",
)
COLORS = (
    "Color", "Black and White", "Color::(Technicolor)", "Color::(Eastmancolor)", "Black and White::(Tinted)",
)
SOUNDS = (
    "Mono", "Stereo", "Dolby Digital", "Dolby", "Silent", "DTS", "SDDS", "Dolby SR",
)
RATINGS = (
    "PG", "R", "PG-13", "G", "12", "16", "18", "Unrated", "TV-14", "M",
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)
TRADES = (
    "Film", "Pictures", "Entertainment", "Productions", "Television", "Studios", "Warner", "Media", "Video", "Distribution",
)
FORMATS = (
    "(theatrical)", "(TV)", "(DVD)", "(VHS)", "(Blu-ray)", "(all media)", "(non-USA)", "(worldwide)",
)
CAST_NOTES = (
    "(uncredited)", "(voice)", "(producer)", "(writer)", "(executive producer)", "(written by)", "(story)",
    "(archive footage)", "(voice: English version)", "(co-producer)", "(voice) (uncredited)", "(head writer)",
    "(story editor)", "(screenplay)", "(voice: Japanese version)",
)
INFO_NOTES = (
    "(internet)", "(limited)", "(premiere)", "(re-release)", "(director's cut)", "(DVD premiere)",
)
COMPANY_NOTES = (
    "(presents)", "(co-production)", "(in association with)", "(as Metro-Goldwyn-Mayer Pictures)",
    "(2006) (USA) (theatrical)", "(2005) (worldwide) (TV)", "(1994) (USA) (VHS)", "(2007) (USA) (DVD)",
    "(2008) (worldwide) (all media)", "(1998) (France) (theatrical)", "(2009) (Japan) (Blu-ray)", "(produced by)",
)
COMPANIES = (
    "Warner Home Video", "20th Century Fox Film", "Twentieth Century Fox Home Entertainment", "Lionsgate",
    "Lionsgate Home Entertainment", "Warner Bros. Pictures", "YouTube",
)
TITLES = (
    "Kung Fu Panda", "Shrek", "Shrek 2", "Saw", "Saw IV", "Freddy vs. Jason", "Vampire Night", "Champion", "Loser",
)
KEYWORDS = (
    "sequel", "second-part", "second-sequel", "murder", "blood", "violence", "gore", "revenge", "based-on-comic",
)
CHARACTERS = (
    "Himself", "Herself", "Narrator", "Additional Voices", "Tony Stark", "Queen", "Host",
)
# fmt: on
