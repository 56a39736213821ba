#include "focus/inspect/page_style.h"

#include "focus/inspect/palette.h"

namespace focus {
namespace {

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--page:#ffffff;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;
--panel:#f5f7f9;--best:#e3f3e6;--train:#0b5cd5;--heldout:#b04a00}
@media (prefers-color-scheme:dark){:root{--page:#12161b;--ink:#e6edf3;--soft:#a3adb8;
--rule:#39424d;--panel:#1a2027;--best:#17351f;--train:#74b4ff;--heldout:#ffab5e}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--page);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--rule)}
p{margin:.5rem 0;max-width:46rem}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0;
padding:.7rem 1rem;background:var(--panel);border-radius:.4rem;font-size:.9rem}
.facts dt{color:var(--soft)}
.facts dd{margin:0;overflow-wrap:anywhere}
.notes{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.2rem 1rem;
font-size:.9rem;max-width:50rem;margin:.8rem 0}
.notes dt{font-weight:600}
.notes dd{margin:0;color:var(--soft)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.4rem}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child{text-align:left}
thead th{vertical-align:bottom;font-weight:600}
tbody th{font-weight:400}
.unit{display:block;font-weight:400;color:var(--soft);font-size:.8rem}
.best th,.best td{background:var(--best);font-weight:600}
.badge{display:inline-block;font-size:.75rem;border:1px solid currentColor;border-radius:.8rem;
padding:0 .45rem;white-space:nowrap}
figure{margin:.5rem 0;max-width:44rem}
figure>svg{display:block;width:100%;height:auto}
figcaption{font-size:.9rem;color:var(--soft)}
svg text{font-size:11px;fill:var(--soft)}
svg .label{fill:var(--ink)}
.grid path{stroke:var(--rule);fill:none}
.axis{stroke:var(--soft);fill:none}
.line{fill:none;stroke-width:1.6;stroke-linejoin:round}
.train{stroke:var(--train)}
.heldout{stroke:var(--heldout);stroke-dasharray:5 3}
circle.train{fill:var(--train);stroke:none}
circle.heldout{fill:var(--heldout);stroke:none}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;color:var(--ink)}
.key{width:28px;height:12px;vertical-align:middle}
.key-row{font-size:.85rem;margin:.6rem 0}
.shades{display:inline-flex;flex-wrap:wrap}
.shades span{padding:.1rem .45rem;font-variant-numeric:tabular-nums}
.heat{font-size:.78rem}
.heat th,.heat td{padding:.14rem .3rem;border:1px solid var(--page);text-align:center}
.heat td{min-width:2.3rem}
.heat th{color:var(--soft)}
.heat .summary{text-align:right;padding-left:.6rem}
.none{background:repeating-linear-gradient(135deg,var(--rule) 0 2px,var(--page) 2px 7px);
color:var(--soft)}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.tokens,.text{white-space:break-spaces;overflow-wrap:anywhere;line-height:1.75;font-size:.95rem;
border:1px solid var(--rule);border-radius:.4rem;padding:.7rem .8rem}
.tokens span,.samples span{border-radius:.2rem;padding:.08rem 0}
.tokens [data-g],.chip[data-g]{cursor:pointer}
.tokens .gnone,.samples .gnone{outline:1px dotted var(--soft);outline-offset:-1px}
.samples,.groups th:last-child{text-align:left}
.samples span{white-space:break-spaces;padding:.08rem .1rem}
.chip{display:inline-block;min-width:2.4rem;text-align:center;border-radius:.2rem;padding:0 .3rem}
.newline::before{content:"\21B5";opacity:.65;font-style:normal}
.tab::before{content:"\21E5";opacity:.65;font-style:normal}
.part::before{content:"\25CC";font-style:normal}
.chosen{position:sticky;top:0;background:var(--page);margin:0;padding:.3rem 0;min-height:2.1rem;
max-width:none;font-size:.9rem}
.text{font-family:Georgia,"DejaVu Serif",serif}
.prompt{color:var(--soft)}
.written{border-bottom:2px solid var(--train)}
@media (max-width:600px){
body{padding:.7rem}
svg text{font-size:15px}
.facts,.notes{grid-template-columns:1fr;gap:0}
.facts dd,.notes dd{margin-bottom:.35rem}
th,td{padding:.3rem .35rem}
table{font-size:.82rem}
.shades span{padding:.1rem .26rem}
.masks{display:grid;grid-template-columns:repeat(var(--numbers),auto);font-size:.78rem}
.masks caption{display:block;grid-column:1/-1}
.masks thead,.masks tbody,.masks tr{display:contents}
.masks th,.masks td{padding:.2rem}
.masks thead th{align-self:end;border:0}
.masks thead th:first-child{display:none}
.masks tbody th{grid-column:1/-1;border:0;border-top:1px solid var(--rule);font-weight:600}
.masks td{border:0}
.heat{font-size:.74rem;width:100%}
.heat th,.heat td{padding:.1rem}
.heat td{min-width:1.75rem}
}
@media print{.scroll{overflow:visible}.chosen{display:none}}
)css";

constexpr std::string_view kScript = R"js(
(function () {
  var page = document.getElementById("tokens"), line = document.getElementById("chosen");
  if (!page) return;
  var rule = document.head.appendChild(document.createElement("style")), chosen = null;
  var hint = "Click a token or a group number to see that group alone.";
  function choose(group) {
    chosen = group === chosen ? null : group;
    if (chosen === null) {
      rule.textContent = "";
      line.textContent = hint;
      return;
    }
    var same = '[data-g="' + chosen + '"]', name = chosen < 0 ? "No group" : "Group " + chosen;
    rule.textContent = ".tokens [data-g]:not(" + same + "){background:none;color:inherit}";
    line.textContent = name + ": " + page.querySelectorAll(same).length +
        " tokens. Click it again to see all.";
  }
  document.addEventListener("click", function (event) {
    var hit = event.target.closest("[data-g]");
    if (hit) choose(hit.getAttribute("data-g"));
  });
  document.querySelectorAll(".chip[data-g]").forEach(function (chip) {
    chip.tabIndex = 0;
    chip.setAttribute("role", "button");
    chip.addEventListener("keydown", function (event) {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose(chip.getAttribute("data-g"));
      }
    });
  });
  line.textContent = hint;
})();
)js";

void append_levels(std::string& css, Scheme scheme) {
  for (int level = 0; level < kLevels; ++level) {
    const Swatch swatch = level_swatch(level, scheme);
    css += ".l" + std::to_string(level) + "{background:" + to_hex(swatch.background) +
           ";color:" + to_hex(swatch.text) + "}\n";
  }
}

}  // namespace

std::string page_style() {
  std::string css(kStyle);
  append_levels(css, Scheme::kLight);
  css += "@media (prefers-color-scheme:dark){\n";
  append_levels(css, Scheme::kDark);
  css += "}\n";
  return css;
}

std::string_view page_script() { return kScript; }

}  // namespace focus
