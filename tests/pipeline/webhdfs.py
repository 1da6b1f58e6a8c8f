"""A file system behind WebHDFS, Hadoop's protocol for HDFS over HTTP, as far as Spark needs it, over a local folder."""

import json
import shutil
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/webhdfs/v1"


class WebHdfs(ThreadingHTTPServer):
    """`failing`: how many of the next calls of each operation fail."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.folder, self.failing = folder, Counter[str]()

    @property
    def uri(self) -> str:
        return f"webhdfs://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebHdfs

    def _answer(self) -> None:
        url = urlsplit(self.path)
        asked = {name.lower(): values[0] for name, values in parse_qs(url.query).items()}
        op, content = asked["op"].upper(), self._content()
        if op in ("OPEN", "CREATE") and "there" not in asked:  # files are on other machines than their names
            return self._send(307, location=f"http://{self.headers['Host']}{self.path}&there=1")
        if self.server.failing[op] > 0:
            self.server.failing[op] -= 1
            return self._fail(403, "org.apache.hadoop.security.AccessControlException", f"{op} is refused")
        try:
            self._send(*self._done(op, self._local(url.path.removeprefix(PREFIX)), asked, content))
        except FileNotFoundError as error:
            self._fail(404, "java.io.FileNotFoundException", f"File does not exist: {error.filename}")

    do_GET = do_PUT = do_DELETE = _answer

    def _done(self, op: str, path: Path, asked: dict[str, str], content: bytes) -> tuple[int, object]:
        match op:
            case "GETFILESTATUS":
                return 200, {"FileStatus": _status(path, "")}
            case "LISTSTATUS":
                listed = [_status(each, each.name) for each in sorted(path.iterdir())] if path.is_dir() else [_status(path, "")]
                return 200, {"FileStatuses": {"FileStatus": listed}}
            case "GETFILEBLOCKLOCATIONS":
                return 200, {"BlockLocations": {"BlockLocation": []}}
            case "OPEN":
                start = int(asked.get("offset", 0))
                return 200, path.read_bytes()[start:][: int(asked["length"]) if "length" in asked else None]
            case "CREATE":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                return 201, b""
            case "MKDIRS":
                path.mkdir(parents=True, exist_ok=True)
                return 200, {"boolean": True}
            case "RENAME":
                target = self._local(asked["destination"])
                can = path.exists() and target.parent.is_dir() and not target.is_file()
                if can:
                    path.rename(target / path.name if target.is_dir() else target)
                return 200, {"boolean": can}
            case "DELETE":
                there = path.exists()
                if there:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                return 200, {"boolean": there}
            case "SETPERMISSION" | "SETTIMES":
                return 200, b""
        raise AssertionError(f"{op} is not needed so far")

    def _local(self, path: str) -> Path:
        return self.server.folder / unquote(path).lstrip("/")

    def _content(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _fail(self, code: int, kind: str, message: str) -> None:
        told = {"exception": kind.rpartition(".")[2], "javaClassName": kind, "message": message}
        self._send(code, {"RemoteException": told})

    def _send(self, code: int, body: object = b"", location: str | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def _status(path: Path, name: str) -> dict[str, object]:
    found = path.stat()
    file = path.is_file()
    moment = int(found.st_mtime * 1000)
    return {
        "pathSuffix": name, "type": "FILE" if file else "DIRECTORY", "length": found.st_size if file else 0,
        "modificationTime": moment, "accessTime": moment, "blockSize": 128 << 20 if file else 0, "replication": 1 if file else 0,
        "permission": "644" if file else "755", "owner": "me", "group": "us", "childrenNum": 0, "fileId": found.st_ino,
    }  # fmt: skip
