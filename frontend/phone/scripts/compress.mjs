// Writes a .gz and a .br beside each built text file, and beside the runtime: the platform serves them as they are.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const built = join(import.meta.dirname, "../../../platform/coterie/gateway/static/phone");
// The best quality takes a minute for the runtime, and saves a fourteenth.
const quality = (name) => (name.endsWith(".wasm") ? 9 : 11);

for (const entry of readdirSync(built, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(js|mjs|css|wasm)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const content = readFileSync(path);
  if (content.length < 1024) continue;
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality(entry.name) };
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
}
