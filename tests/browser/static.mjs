// A static file server with a strict policy, and nothing else: what a site needs of its host.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";

const kinds = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".wasm": "application/wasm",
  ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2" };

// `policy(path)` is the policy of a file, and `change(path)` may give other bytes for it. Returns the address, what was asked for, and how to stop.
export async function serve(folder, policy, change = () => undefined) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    asked.push(pathname);
    const file = path.join(folder, decodeURIComponent(pathname), pathname.endsWith("/") ? "index.html" : "");
    const known = file.startsWith(folder) && (await stat(file).catch(() => null))?.isFile();
    response.writeHead(known ? 200 : 404, {
      "Content-Type": kinds[path.extname(file)] ?? "application/octet-stream", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
      "Content-Security-Policy": policy(pathname),
    });
    const other = known && (await change(pathname));
    if (other) response.end(other);
    else if (known) createReadStream(file).pipe(response);
    else response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, asked, stop: () => server.close() };
}
