//! From a plan to its report, on runs of a few steps.

use kuramoto_engine::Cpu;
use kuramoto_lab::claims::{Scope, Verdict};
use kuramoto_lab::equal::Axis;
use kuramoto_lab::results::Results;
use kuramoto_lab::runner::{Corpora, run_one};
use kuramoto_lab::scale::Scale;
use kuramoto_lab::{Experiment, Plan, Request, report, statistics};
use kuramoto_train::{Overlay, Setting};
use std::fs;
use std::path::Path;

#[test]
fn the_ablation_suite_from_plan_to_report() {
    let folder = tempfile::tempdir().unwrap();
    let short = "data.bytes = 60000\nlength = { steps = 4 }\nvalidation.every = 4";
    let request = Request {
        seeds: Some(3),
        overlays: vec![Overlay::parse("test", short).unwrap()],
        ..Request::new(Experiment::Ablations, Scale::Smoke)
    };
    let plan = Plan::create(&request, &folder.path().join("plan"), Path::new("unused")).unwrap();
    let corpora = Corpora::new(Path::new("unused"));
    // One run is left out: the report is of what is finished.
    for run in &plan.runs[..plan.runs.len() - 1] {
        run_one(&plan, run, &corpora, Setting::new(&Cpu::new(1)), &mut ()).unwrap();
    }
    let results = Results::gather(&plan);
    assert_eq!(results.progress, (41, 42));
    assert_eq!((results.arms.len(), results.claims.len()), (14, 13));
    assert!(results.claims.iter().all(|claim| claim.scope == Scope::Own), "the paper has no tales");
    for claim in &results.claims {
        assert_eq!(claim.verdict, Verdict::NotJudged, "a smoke test shows nothing of the models");
        assert!(claim.p >= statistics::smallest_p(claim.differences.len()));
        assert!(claim.interval.contains(claim.mean), "{claim:?}");
    }
    assert!(results.ranks.is_empty(), "nor an order of ablations on them");

    let files = report::write(&plan, &results).unwrap();
    let text =
        |name: &str| fs::read_to_string(files.iter().find(|path| path.ends_with(name)).unwrap()).unwrap();
    let markdown = text("report.md");
    let plain = markdown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains("41 of 42 runs") && plain.contains("| corpus | enwik8 | tales | all |"),
        "{plain}"
    );
    assert!(markdown.contains("This is a smoke test") && markdown.contains("remove value gate: changes"));
    assert!(plain.contains("0 of the paper's 14 cells"), "{plain}");
    assert!(markdown.contains("docs/reconstruction.md"), "what the paper leaves open is named");
    for word in ["reproduced:", "Verdicts", "inconclusive at", "tau 0"] {
        assert!(
            !markdown.lines().take_while(|line| !line.contains("How these")).any(|line| line.contains(word))
        );
    }
    for line in markdown.lines().filter(|line| !line.starts_with(['|', '!'])) {
        assert!(line.chars().count() <= 100 && !line.contains("<a") && !line.contains("]("), "{line}");
    }
    assert!(!markdown.contains("**"), "nothing is bold without a test");
    assert_eq!(text("runs.csv").lines().count(), 42, "a header and a row a run");
    assert_eq!((text("cells.csv").lines().count(), text("claims.csv").lines().count()), (15, 14));
    assert_eq!(
        text("report.tex").matches("\\bottomrule").count(),
        5,
        "two of differences, cells, tests, speeds"
    );
    every_link_leads_somewhere(&plan, &text("report.html"));
    assert!(
        !text("report.json").contains(&*plan.folder().to_string_lossy()),
        "a report knows where it was made"
    );
    let drawn = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "png"));
    for path in drawn.clone() {
        assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"), "{}", path.display());
    }
    assert_eq!(drawn.count(), 2, "the chart and the curves");
    // The same results give the same report.
    report::write(&plan, &Results::gather(&plan)).unwrap();
    assert_eq!(text("report.md"), markdown);
    // So do those that an earlier report kept, once the run folders are gone.
    let kept: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    fs::rename(plan.folder().join("runs"), folder.path().join("runs")).unwrap();
    let again = Results::reread(&plan).unwrap();
    assert_eq!(report::write(&plan, &again).unwrap(), files);
    for (path, before) in files.iter().zip(kept).filter(|(path, _)| !path.ends_with("report.html")) {
        assert!(fs::read(path).unwrap() == before, "{}", path.display());
    }
    assert!(!text("report.html").contains("href=\"runs/"), "folders that are gone are not linked");
    fs::write(plan.folder().join("report.json"), "{}").unwrap();
    assert!(Results::reread(&plan).unwrap_err().to_string().contains("not what `lab report` wrote"));
}

/// The results that are kept are what this program makes of their runs.
#[test]
fn kept_results_are_as_this_program_writes_them() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    for name in ["ablations", "compare", "compare-4m", "epoch-1m", "warmup-share-4m", "warmup-share-10m"] {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(name);
        fs::create_dir(&copy).unwrap();
        for file in ["plan.json", "report.json"] {
            fs::copy(kept.join(name).join(file), copy.join(file)).unwrap();
        }
        let plan = Plan::open(&copy).unwrap();
        let results = Results::reread(&plan).unwrap();
        assert!(results.claims.iter().all(|claim| claim.verdict != Verdict::NotJudged));
        for path in report::write(&plan, &results).unwrap() {
            let file = path.file_name().unwrap();
            let ending = path.extension().unwrap().to_string_lossy().into_owned();
            // Planned memory, which the other formats show, depends on the processor.
            if ["csv", "json", "svg"].contains(&&*ending) {
                let before = fs::read(kept.join(name).join(file)).unwrap();
                assert!(fs::read(&path).unwrap() == before, "{name}: {} is another", file.display());
            }
        }
        let markdown = fs::read_to_string(copy.join("report.md")).unwrap();
        let verdicts = markdown.find("| verdict").unwrap();
        assert!(
            markdown.starts_with(&format!("# Report of {name}\n\nRuns that are not the paper's"))
                && verdicts < 1400,
            "{markdown}"
        );
    }
}

/// Links go to an anchor of the page or to a file of the plan; nothing is fetched from elsewhere.
fn every_link_leads_somewhere(plan: &Plan, html: &str) {
    let links: Vec<&str> = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 100, "{}", links.len());
    for link in links {
        match link.strip_prefix('#') {
            Some(anchor) => assert!(html.contains(&format!("id=\"{anchor}\"")), "{anchor}"),
            None => assert!(plan.folder().join(link).exists(), "{link}"),
        }
    }
    assert!(!html.contains("src=") && !html.contains("@import"));
}

#[test]
fn a_comparison_reads_the_test_split_too() {
    let folder = tempfile::tempdir().unwrap();
    let short = "data.bytes = 60000\nlength = { steps = 4 }\nvalidation.every = 1";
    let request = Request {
        seeds: Some(2),
        overlays: vec![Overlay::parse("test", short).unwrap()],
        ..Request::new(Experiment::Compare, Scale::Smoke)
    };
    let plan = Plan::create(&request, &folder.path().join("plan"), Path::new("unused")).unwrap();
    let corpora = Corpora::new(Path::new("unused"));
    for run in &plan.runs {
        run_one(&plan, run, &corpora, Setting::new(&Cpu::new(1)), &mut ()).unwrap();
    }
    let results = Results::gather(&plan);
    for arm in &results.arms {
        assert_eq!((arm.tests().len(), arm.validations().len()), (2, 2));
        assert!(arm.runs.values().all(|run| run.curve.len() == 4 && run.bytes_per_second > 0.0));
    }
    assert!(results.claims.iter().all(|claim| claim.paper.is_none()), "the paper does not know this corpus");
    assert_eq!(results.claims.len(), 4, "two recipes, validation and test");
    let on = |axis| results.equals.iter().filter(|equal| equal.axis == axis).count();
    // At equal seconds, one may end before the other is first validated.
    assert_eq!((on(Axis::Bytes), on(Axis::Operations)), (2, 2), "two recipes");
    for equal in results.equals.iter().filter(|equal| equal.axis == Axis::Bytes) {
        let arm =
            results.arms.iter().find(|arm| arm.arm.to_string() == format!("kuramoto-{}", equal.protocol));
        let last: Vec<f64> = arm.unwrap().runs.values().map(|run| run.curve.last().unwrap().1).collect();
        assert!((equal.kuramoto - statistics::mean(&last)).abs() < 1e-12, "equal bytes are the ends of both");
    }
    let files = report::write(&plan, &results).unwrap();
    let csv = fs::read_to_string(files.iter().find(|path| path.ends_with("curves.csv")).unwrap()).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8 * 4, "a row for every validation of every seed");
    assert!(files.iter().any(|path| path.ends_with("compare-seeds.svg")));
}
