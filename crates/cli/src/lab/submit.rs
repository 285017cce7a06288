//! `kuramoto lab submit`: a plan as a job array.

use crate::device::check_build;
use crate::program::{program, quoted};
use crate::table::counted;
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
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    memory: Option<u64>,
    /// Give each task a graphics card (--gres=gpu:1, nvidia.com/gpu) and train on it
    #[arg(long)]
    gpu: bool,
    /// Time limit of a task; a run that is not finished by then is queued again and goes on
    #[arg(long, default_value = "24:00:00", value_parser = time)]
    time: String,
    /// Where Slurm queues it
    #[arg(long, value_parser = partition)]
    partition: Option<String>,
    /// Image with kuramoto on its path (Kubernetes)
    #[arg(long, value_parser = image)]
    image: Option<String>,
    /// Persistent volume claim that holds the plan's folder (Kubernetes)
    #[arg(long, value_parser = claim)]
    claim: Option<String>,
    /// Folder of prepared corpora, where the nodes see it (Slurm)
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Write the script and submit nothing
    #[arg(long)]
    dry_run: bool,
}

/// True if a text is one word of these characters besides letters and digits, so that it stays in its place
/// in a script.
fn is_word(text: &str, besides: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || besides.contains(c))
}

fn partition(text: &str) -> Result<String, String> {
    let allowed = "letters, digits, dashes, underscores, dots and commas are allowed";
    if is_word(text, "-_.,") { Ok(text.into()) } else { Err(allowed.into()) }
}

fn image(text: &str) -> Result<String, String> {
    let allowed = "give an image as registries name it, like ghcr.io/lab/kuramoto:1";
    if is_word(text, "-_./:@") { Ok(text.into()) } else { Err(allowed.into()) }
}

fn claim(text: &str) -> Result<String, String> {
    let plain = is_word(text, "-.") && !text.contains(char::is_uppercase);
    if plain {
        Ok(text.into())
    } else {
        Err("lower-case letters, digits, dashes and dots are allowed".into())
    }
}

/// A time limit as Slurm understands it: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`.
fn time(text: &str) -> Result<String, String> {
    let wrong = || "write minutes, hours:minutes:seconds or days-hours, like 90, 12:00:00 or 2-0".to_string();
    let number = |part: &str| part.parse::<u32>().map(u64::from).map_err(|_| wrong());
    let (days, clock) = text.split_once('-').map_or((None, text), |(days, clock)| (Some(days), clock));
    let clock = clock.split(':').map(number).collect::<Result<Vec<u64>, String>>()?;
    let seconds = match (days.map(number).transpose()?, &clock[..]) {
        (None, [minutes]) => minutes * 60,
        (None, [minutes, seconds]) => minutes * 60 + seconds,
        (None, [hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
        (Some(days), [hours, rest @ ..]) if rest.len() <= 2 => {
            let [minutes, seconds] = [0, 1].map(|i| rest.get(i).copied().unwrap_or(0));
            days * 86_400 + hours * 3600 + minutes * 60 + seconds
        }
        _ => return Err(wrong()),
    };
    let least = 2 * submit::GRACE;
    if seconds < least {
        let grace = submit::GRACE;
        return Err(format!(
            "a task gets its signal {grace} seconds before its limit: give it {least} seconds or more"
        ));
    }
    Ok(text.into())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    // The nodes run this very program; on Kubernetes they run the image's.
    if arguments.gpu && arguments.slurm {
        check_build("--gpu")?;
    }
    let plan = Plan::open(&arguments.plan)?;
    let task = Task {
        throttle: arguments.throttle.map(|tasks| tasks as usize),
        cpus: arguments.cpus as usize,
        megabytes: arguments.memory,
        card: arguments.gpu,
    };
    if let (Some(image), Some(claim), true) = (&arguments.image, &arguments.claim, arguments.kubernetes) {
        let settings = Kubernetes { image: image.clone(), claim: claim.clone() };
        let path = submit::write(&plan, KUBERNETES_FILE, &submit::kubernetes(&plan, &task, &settings)?)?;
        return crate::print(&format!("wrote {0}; submit it with: kubectl apply -f {0}\n", path.display()));
    }
    let indices = submit::unfinished(&plan);
    if indices.is_empty() {
        return crate::print("every run of the plan has ended: there is nothing to submit\n");
    }
    let absolute = |path: &PathBuf| std::path::absolute(path).with_context(|| format!("{}", path.display()));
    let settings = Slurm {
        program: std::env::current_exe().context("the program does not know where it lies")?,
        plan: absolute(&arguments.plan)?,
        cache: absolute(&arguments.cache.clone().unwrap_or_else(default_cache))?,
        time: arguments.time.clone(),
        partition: arguments.partition.clone(),
    };
    let path = submit::write(&plan, SLURM_FILE, &submit::slurm(&plan, &indices, &task, &settings)?)?;
    let by_hand = format!("cd {} && sbatch {SLURM_FILE}", settings.plan.display());
    if arguments.dry_run {
        return crate::print(&format!("wrote {}; submit it with: {by_hand}\n", path.display()));
    }
    let answer =
        match Command::new("sbatch").arg("--parsable").arg(SLURM_FILE).current_dir(plan.folder()).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!(
                    "there is no sbatch here; {} is written: submit it where Slurm is, with: {by_hand}",
                    path.display()
                )
            }
            answer => answer.context("sbatch cannot be started")?,
        };
    if !answer.status.success() {
        bail!("sbatch refused {}: {}", path.display(), String::from_utf8_lossy(&answer.stderr).trim());
    }
    let job = String::from_utf8_lossy(&answer.stdout).trim().to_string();
    crate::print(&format!(
        "submitted {} as job {job}: {}\nwatch them with: {} lab status {}\n",
        path.display(),
        counted(indices.len(), "task"),
        program(),
        quoted(&plan.folder().to_string_lossy())
    ))
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn limits_are_slurms_and_leave_time_to_save() {
        for good in ["4", "90", "5:00", "12:00:00", "0-1", "2-0", "1-12:30", "1-00:00:30"] {
            assert_eq!(time(good).as_deref(), Ok(good));
        }
        for bad in ["", "0", "1", "3:59", "1::--", "-1", "1-", "a", "1:2:3:4", "1-2:3:4:5", "99999999999"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
