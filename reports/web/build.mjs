// Bundles the page: `make web`. The result, report_page.html, is committed, so that building Drydock needs
// neither Node.js nor the network. DRYDOCK_NODE_MODULES: folder of the packages, if not node_modules here.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const modules = process.env.DRYDOCK_NODE_MODULES || join(import.meta.dirname, "node_modules");
const { buildSync } = createRequire(join(modules, "x.js"))("esbuild");

const here = (name) => join(import.meta.dirname, name);
const bundle = buildSync({
  entryPoints: [here("src/main.js")],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  nodePaths: [modules],
}).outputFiles[0].text;
const css = buildSync({
  stdin: {
    contents: readFileSync(join(modules, "uplot/dist/uPlot.min.css"), "utf8") + readFileSync(here("page.css"), "utf8"),
    loader: "css",
  },
  minify: true,
  write: false,
}).outputFiles[0].text;
const licence = (name) => `${name} ${JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version}\n\n` +
  readFileSync(join(modules, name, "LICENSE"), "utf8").trim();

let page = readFileSync(here("page.html"), "utf8");
const put = (mark, text) => { page = page.replace(mark, () => text); };
put("/*CSS*/", css.trim());
put("/*LICENCES*/", ["uplot", "d3-hierarchy"].map(licence).join("\n\n\n"));
put("/*SCRIPT*/", bundle.trim().replaceAll("</script", "<\\/script"));
if (page.includes(")drydockpage")) {
  throw new Error("the page holds the end of the C++ string that it becomes");
}
writeFileSync(here("report_page.html"), page);
console.log(`report_page.html: ${page.length} bytes`);
