"""Runs pages in Chromium without a window."""
import http.server
import os
import shutil
import subprocess

COMMAND = [shutil.which("chromium") or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def document(file, home):
    """(the document after its scripts have run, Chromium's messages); home: a folder for Chromium's files."""
    p = subprocess.run([*COMMAND, "--dump-dom", "--timeout=60000", f"--user-data-dir={home}", file.as_uri()], capture_output=True, timeout=300,
                       env={**os.environ, "HOME": str(home)})
    return p.stdout.decode(), p.stderr.decode()


def posted(file, home, script):
    """Adds the script to the page; returns what it posts to the address in its variable `to`; None: nothing within 5 minutes."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.timeout = 300
        text = file.read_text()
        file = home.parent / f"posting-{file.name}"
        file.write_text(text.replace("</body>", f'<script>const to = "http://127.0.0.1:{server.server_port}";\n{script}</script></body>'))
        with subprocess.Popen([*COMMAND, "--remote-debugging-port=0", f"--user-data-dir={home}", file.as_uri()], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(home)}) as browser:
            server.handle_request()
            browser.terminate()
    return got[0] if got else None
