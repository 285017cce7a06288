//! Job arrays: one task for every run of a plan, on Slurm or Kubernetes.
//!
//! A task calls `kuramoto lab run PLAN --index i`. Tasks may be stopped, repeated and run beside each other
//! as the cluster likes: a run goes on where it was, a finished one is left alone, and no two processes train
//! the same one.

use crate::error::{Error, Result};
use crate::plan::{Plan, Planned};
use crate::runner::{Status, status};
use kuramoto_engine::Cpu;
use kuramoto_train::disk;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What a task asks of the cluster.
#[derive(Clone, Debug)]
pub struct Task {
    /// Tasks at a time; all if None.
    pub throttle: Option<usize>,
    /// Cores of a task.
    pub cpus: usize,
    /// Megabytes of a task; what the largest run needs if None.
    pub megabytes: Option<u64>,
    /// Each task has a graphics card and trains on it.
    pub card: bool,
}

/// Settings for Slurm alone.
#[derive(Clone, Debug)]
pub struct Slurm {
    /// The program, as the nodes find it.
    pub program: PathBuf,
    /// The plan's folder, as the nodes find it.
    pub plan: PathBuf,
    /// Folder of prepared corpora, as the nodes find it.
    pub cache: PathBuf,
    /// Time limit of a task, as Slurm writes it.
    pub time: String,
    /// Where to queue.
    pub partition: Option<String>,
}

/// Settings for Kubernetes alone.
#[derive(Clone, Debug)]
pub struct Kubernetes {
    /// An image with `kuramoto` on its path.
    pub image: String,
    /// The persistent volume claim that holds the plan's folder.
    pub claim: String,
}

/// Seconds that a task has to save and leave after a signal to stop; a step takes far less.
pub const GRACE: u64 = 120;

impl Task {
    fn megabytes(&self, plan: &Plan) -> Result<u64> {
        // The program, and the corpus, which every task reads into memory.
        const REST: u64 = 512;
        if let Some(megabytes) = self.megabytes {
            return Ok(megabytes);
        }
        let mut most = 0;
        for run in &plan.runs {
            most = most.max(crate::plan::planned_memory(&run.config, &Cpu::new(self.cpus))?);
        }
        Ok(most as u64 / 1_000_000 + REST)
    }
}

/// Indices of the runs that are left to do.
pub fn unfinished(plan: &Plan) -> Vec<usize> {
    // A folder that holds something else fails its own task, and no other.
    let left = |run: &&Planned| !matches!(status(plan, run), Ok(Status::Finished(_) | Status::Failed(_)));
    plan.runs.iter().filter(left).map(|run| run.index).collect()
}

/// The array script.
pub fn slurm(plan: &Plan, indices: &[usize], task: &Task, slurm: &Slurm) -> Result<String> {
    let throttle = task.throttle.map(|tasks| format!("%{tasks}")).unwrap_or_default();
    let partition =
        slurm.partition.as_ref().map(|name| format!("#SBATCH --partition={name}\n")).unwrap_or_default();
    let [program, folder, cache] = [&slurm.program, &slurm.plan, &slurm.cache].map(|path| shell(path));
    let (name, ranges, cpus, megabytes) = (label(plan), ranges(indices), task.cpus, task.megabytes(plan)?);
    let time = &slurm.time;
    let (card, device) = if task.card { ("#SBATCH --gres=gpu:1\n", " --device gpu") } else { ("", "") };
    Ok(format!(
        r#"#!/bin/bash
# One task for every run of the plan that was not finished when this was written.
# To submit it by hand: cd to this folder, then sbatch {SLURM_FILE}
#SBATCH --job-name={name}
#SBATCH --array={ranges}{throttle}
#SBATCH --cpus-per-task={cpus}
#SBATCH --mem={megabytes}M
#SBATCH --time={time}
{partition}{card}#SBATCH --signal=B:USR1@{GRACE}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=logs/%a.log

{program} lab run {folder} --index "$SLURM_ARRAY_TASK_ID" --threads "$SLURM_CPUS_PER_TASK" --cache {cache}{device} &
run=$!
again=
# After one SIGTERM the run finishes its step, saves, and exits with 143; after a second it exits at once.
# Before its time limit this script alone gets SIGUSR1, and is queued again. Cancelled, Slurm sends SIGTERM to
# the run as well: the script only waits for it.
trap 'again=yes; kill -TERM "$run"' USR1
trap : TERM
wait "$run"
code=$?
# A trapped signal ends that wait before the run has left.
while kill -0 "$run" 2>/dev/null; do
    wait "$run"
    code=$?
done
if [ -n "$again" ] && [ "$code" -ne 0 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
"#
    ))
}

/// The Indexed Job. Indices are the plan's; runs that are finished leave at once.
pub fn kubernetes(plan: &Plan, task: &Task, kubernetes: &Kubernetes) -> Result<String> {
    let (name, count, cpus, megabytes) = (label(plan), plan.runs.len(), task.cpus, task.megabytes(plan)?);
    let parallel = task.throttle.unwrap_or(count);
    // JSON strings are YAML strings.
    let quoted = |text: &str| serde_json::to_string(text).expect("a string");
    let folder = plan.name();
    let (card, device) = match task.card {
        true => ("\n              nvidia.com/gpu: 1", "\n            - --device\n            - gpu"),
        false => ("", ""),
    };
    let (image, claim, folder) =
        (quoted(&kubernetes.image), quoted(&kubernetes.claim), quoted(&format!("/plans/{folder}")));
    Ok(format!(
        r#"# One index for every run of the plan. The claim must hold the plan's folder, and /cache beside
# it the prepared corpora.
# To submit it: kubectl apply -f {KUBERNETES_FILE}
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {count}
  parallelism: {parallel}
  backoffLimitPerIndex: 3
  maxFailedIndexes: {count}
  podFailurePolicy:
    rules:
      # Moved or asked to stop: the run goes on where it was.
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
      - action: Ignore
        onExitCodes:
          containerName: run
          operator: In
          values: [143]
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: {GRACE}
      containers:
        - name: run
          image: {image}
          command:
            - kuramoto
            - lab
            - run
            - {folder}
            - --index
            - $(JOB_COMPLETION_INDEX)
            - --threads
            - "{cpus}"
            - --cache
            - /plans/cache{device}
          resources:
            requests:
              cpu: "{cpus}"
              memory: {megabytes}M
            limits:
              memory: {megabytes}M{card}
          volumeMounts:
            - name: plans
              mountPath: /plans
      volumes:
        - name: plans
          persistentVolumeClaim:
            claimName: {claim}
"#
    ))
}

/// Name of the array script.
pub const SLURM_FILE: &str = "submit.slurm";
/// Name of the Indexed Job.
pub const KUBERNETES_FILE: &str = "job.yaml";

/// Writes a script into the plan's folder. One that is there may have been edited: it is kept beside under a
/// number.
pub fn write(plan: &Plan, file: &str, text: &str) -> Result<PathBuf> {
    let path = plan.folder().join(file);
    let failed = |error: std::io::Error| Error::plan(&path, format!("it cannot be written: {error}"));
    match disk::read(&path) {
        Ok(old) if old == text.as_bytes() => return Ok(path),
        Ok(_) => {
            let free = (1..).map(|n| plan.folder().join(format!("{file}.{n}"))).find(|other| !other.exists());
            fs::rename(&path, free.expect("numbers do not end")).map_err(failed)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Error::plan(&path, format!("it is there and cannot be read: {error}"))),
    }
    kuramoto_report::write(plan.folder(), file, text)
        .map_err(|error| Error::plan(plan.folder(), error.to_string()))?;
    // Slurm does not make the folder of its logs.
    fs::create_dir_all(plan.folder().join("logs")).map_err(failed)?;
    Ok(path)
}

/// A name that both systems take: letters, digits and dashes.
fn label(plan: &Plan) -> String {
    let plain: String = plan
        .name()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "kuramoto".into() } else { format!("kuramoto-{plain}") }
}

/// `0-3,7` for 0, 1, 2, 3, 7.
fn ranges(indices: &[usize]) -> String {
    let runs = indices.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// A path as one word of a shell.
fn shell(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_short() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3,7,9-10");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn paths_stay_one_word() {
        assert_eq!(shell(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
