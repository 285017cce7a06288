//! The page, inside the program.

pub(crate) struct Asset {
    pub path: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

macro_rules! assets {
    ($name:ident: $($path:literal $file:literal $kind:literal),* $(,)?) => {
        pub(crate) const $name: &[Asset] =
            &[$(Asset { path: $path, kind: $kind, bytes: include_bytes!(concat!("../assets/", $file)) }),*];
    };
}

// Of the page without a server.
assets! { SITE:
    "/asking.js" "asking.js" "text/javascript; charset=utf-8",
    "/wasm.js" "wasm.js" "text/javascript; charset=utf-8",
    "/card.js" "card.js" "text/javascript; charset=utf-8",
    "/webgpu.js" "webgpu.js" "text/javascript; charset=utf-8",
    "/worker.js" "worker.js" "text/javascript; charset=utf-8",
}

// The article, with the results that it shows.
assets! { ARTICLE:
    "/article/index.html" "article/index.html" "text/html; charset=utf-8",
    "/article/article.css" "article/article.css" "text/css; charset=utf-8",
    "/article/ablate.js" "article/ablate.js" "text/javascript; charset=utf-8",
    "/article/ablations.js" "article/ablations.js" "text/javascript; charset=utf-8",
    "/article/article.js" "article/article.js" "text/javascript; charset=utf-8",
    "/article/bound.js" "article/bound.js" "text/javascript; charset=utf-8",
    "/article/changed.js" "article/changed.js" "text/javascript; charset=utf-8",
    "/article/classical.js" "article/classical.js" "text/javascript; charset=utf-8",
    "/article/comparison.js" "article/comparison.js" "text/javascript; charset=utf-8",
    "/article/coupling.js" "article/coupling.js" "text/javascript; charset=utf-8",
    "/article/csv.js" "article/csv.js" "text/javascript; charset=utf-8",
    "/article/curves.js" "article/curves.js" "text/javascript; charset=utf-8",
    "/article/drift.js" "article/drift.js" "text/javascript; charset=utf-8",
    "/article/filled.js" "article/filled.js" "text/javascript; charset=utf-8",
    "/article/forest.js" "article/forest.js" "text/javascript; charset=utf-8",
    "/article/gates.js" "article/gates.js" "text/javascript; charset=utf-8",
    "/article/journey.js" "article/journey.js" "text/javascript; charset=utf-8",
    "/article/layer.js" "article/layer.js" "text/javascript; charset=utf-8",
    "/article/order.js" "article/order.js" "text/javascript; charset=utf-8",
    "/article/parts.js" "article/parts.js" "text/javascript; charset=utf-8",
    "/article/phases.js" "article/phases.js" "text/javascript; charset=utf-8",
    "/article/pull.js" "article/pull.js" "text/javascript; charset=utf-8",
    "/article/readout.js" "article/readout.js" "text/javascript; charset=utf-8",
    "/article/score.js" "article/score.js" "text/javascript; charset=utf-8",
    "/article/steps.js" "article/steps.js" "text/javascript; charset=utf-8",
    "/article/data/ablations.csv" "../../../results/ablations/claims.csv" "text/csv; charset=utf-8",
    "/article/data/ablations-paper.csv" "../../../results/ablations/cells.csv" "text/csv; charset=utf-8",
    "/article/data/compare.csv" "../../../results/compare/claims.csv" "text/csv; charset=utf-8",
    "/article/data/compare-4m.csv" "../../../results/compare-4m/claims.csv" "text/csv; charset=utf-8",
    "/article/data/python-source.csv" "../../../results/python-source/claims.csv" "text/csv; charset=utf-8",
    "/article/data/epoch-1m.csv" "../../../results/epoch-1m/claims.csv" "text/csv; charset=utf-8",
    "/article/data/curves.csv" "../../../results/epoch-1m/curves.csv" "text/csv; charset=utf-8",
    "/article/data/phases.csv" "../../../results/epoch-1m/phases.csv" "text/csv; charset=utf-8",
    "/article/data/metric-gates.csv" "../../../results/metric-gates/claims.csv" "text/csv; charset=utf-8",
    "/article/data/metric-gates-paper.csv" "../../../results/metric-gates-paper/claims.csv" "text/csv; charset=utf-8",
    "/article/data/transition.csv" "../../../results/classical/transition.csv" "text/csv; charset=utf-8",
}

assets! { ALL:
    "/" "index.html" "text/html; charset=utf-8",
    "/address.js" "address.js" "text/javascript; charset=utf-8",
    "/api.js" "api.js" "text/javascript; charset=utf-8",
    "/app.js" "app.js" "text/javascript; charset=utf-8",
    "/bytes.js" "bytes.js" "text/javascript; charset=utf-8",
    "/chart.js" "chart.js" "text/javascript; charset=utf-8",
    "/coalitions.js" "coalitions.js" "text/javascript; charset=utf-8",
    "/colour.js" "colour.js" "text/javascript; charset=utf-8",
    "/continue.js" "continue.js" "text/javascript; charset=utf-8",
    "/controls.js" "controls.js" "text/javascript; charset=utf-8",
    "/coupling.js" "coupling.js" "text/javascript; charset=utf-8",
    "/dom.js" "dom.js" "text/javascript; charset=utf-8",
    "/drift.js" "drift.js" "text/javascript; charset=utf-8",
    "/heatmap.js" "heatmap.js" "text/javascript; charset=utf-8",
    "/inside.css" "inside.css" "text/css; charset=utf-8",
    "/inside.js" "inside.js" "text/javascript; charset=utf-8",
    "/intervene.js" "intervene.js" "text/javascript; charset=utf-8",
    "/key.js" "key.js" "text/javascript; charset=utf-8",
    "/math.js" "math.js" "text/javascript; charset=utf-8",
    "/newest.js" "newest.js" "text/javascript; charset=utf-8",
    "/next.js" "next.js" "text/javascript; charset=utf-8",
    "/notice.js" "notice.js" "text/javascript; charset=utf-8",
    "/order.js" "order.js" "text/javascript; charset=utf-8",
    "/oscillators.js" "oscillators.js" "text/javascript; charset=utf-8",
    "/pen.js" "pen.js" "text/javascript; charset=utf-8",
    "/phasor.js" "phasor.js" "text/javascript; charset=utf-8",
    "/phases.js" "phases.js" "text/javascript; charset=utf-8",
    "/pulling.js" "pulling.js" "text/javascript; charset=utf-8",
    "/pulls.js" "pulls.js" "text/javascript; charset=utf-8",
    "/runs.js" "runs.js" "text/javascript; charset=utf-8",
    "/safetensors.js" "safetensors.js" "text/javascript; charset=utf-8",
    "/scene.js" "scene.js" "text/javascript; charset=utf-8",
    "/state.js" "state.js" "text/javascript; charset=utf-8",
    "/style.css" "style.css" "text/css; charset=utf-8",
    "/table.js" "table.js" "text/javascript; charset=utf-8",
    "/text.js" "text.js" "text/javascript; charset=utf-8",
    "/tour.js" "tour.js" "text/javascript; charset=utf-8",
    "/visible.js" "visible.js" "text/javascript; charset=utf-8",
}
