//! `kuramoto lab submit`: a plan as a job array.

use anyhow::{Context, Result, bail};
use kuramoto_lab::Plan;
use kuramoto_lab::submit::{self, KUBERNETES_FILE, Kubernetes, SLURM_FILE, Slurm, Task};
use kuramoto_train::data::default_cache;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("system").required(true).args(["slurm", "kubernetes"])))]
pub struct Arguments {
    /// The plan's folder, where the nodes see it too
    plan: PathBuf,
    /// Write an array script and submit it with sbatch
    #[arg(long)]
    slurm: bool,
    /// Write an Indexed Job for kubectl
    #[arg(long, requires = "image", requires = "claim")]
    kubernetes: bool,
    /// Tasks at a time [default: as many as the cluster likes]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    throttle: Option<u32>,
    /// Cores of a task
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Megabytes of a task [default: what the largest run needs]
    #[arg(long)]
    memory: Option<u64>,
    /// Time limit of a task; a run that is not finished by then is queued again and goes on
    #[arg(long, default_value = "24:00:00", value_parser = time)]
    time: String,
    /// Where Slurm queues it
    #[arg(long, value_parser = word)]
    partition: Option<String>,
    /// Image with kuramoto on its path (Kubernetes)
    #[arg(long)]
    image: Option<String>,
    /// Persistent volume claim that holds the plan's folder (Kubernetes)
    #[arg(long)]
    claim: Option<String>,
    /// Folder of prepared corpora, where the nodes see it (Slurm)
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Write the script and submit nothing
    #[arg(long)]
    dry_run: bool,
}

/// Both end up in a line of the script, so they must be one word.
fn word(text: &str) -> Result<String, String> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,".contains(c));
    if plain { Ok(text.into()) } else { Err("letters, digits, dashes, dots and commas are allowed".into()) }
}

fn time(text: &str) -> Result<String, String> {
    let plain =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || ":-".contains(c));
    if plain { Ok(text.into()) } else { Err("write minutes, hours:minutes:seconds or days-hours".into()) }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let plan = Plan::open(&arguments.plan)?;
    let task = Task {
        throttle: arguments.throttle.map(|tasks| tasks as usize),
        cpus: arguments.cpus as usize,
        megabytes: arguments.memory,
    };
    if let (Some(image), Some(claim), true) = (&arguments.image, &arguments.claim, arguments.kubernetes) {
        let told = Kubernetes { image: image.clone(), claim: claim.clone() };
        let path = submit::write(&plan, KUBERNETES_FILE, &submit::kubernetes(&plan, &task, &told)?)?;
        return crate::print(&format!("wrote {0}; submit it with: kubectl apply -f {0}\n", path.display()));
    }
    let indices = submit::unfinished(&plan)?;
    if indices.is_empty() {
        return crate::print("every run of the plan is finished: there is nothing to submit\n");
    }
    let absolute = |path: &PathBuf| std::path::absolute(path).with_context(|| format!("{}", path.display()));
    let told = Slurm {
        program: std::env::current_exe().context("the program does not know where it lies")?,
        plan: absolute(&arguments.plan)?,
        cache: absolute(&arguments.cache.clone().unwrap_or_else(default_cache))?,
        time: arguments.time.clone(),
        partition: arguments.partition.clone(),
    };
    let path = submit::write(&plan, SLURM_FILE, &submit::slurm(&plan, &indices, &task, &told)?)?;
    let by_hand = format!("cd {} && sbatch {SLURM_FILE}", told.plan.display());
    if arguments.dry_run {
        return crate::print(&format!("wrote {}; submit it with: {by_hand}\n", path.display()));
    }
    let answer = match Command::new("sbatch").arg("--parsable").arg(SLURM_FILE).current_dir(plan.folder()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no sbatch here; {} is written: submit it where Slurm is, with: {by_hand}", path.display())
        }
        answer => answer.context("sbatch cannot be started")?,
    };
    if !answer.status.success() {
        bail!("sbatch refused {}: {}", path.display(), String::from_utf8_lossy(&answer.stderr).trim());
    }
    let job = String::from_utf8_lossy(&answer.stdout).trim().to_string();
    crate::print(&format!(
        "submitted {} as job {job}: {} tasks\nwatch them with: kuramoto lab status {}\n",
        path.display(),
        indices.len(),
        plan.folder().display()
    ))
}
