//! Whether it pays to send gradients while others are computed: it hides a slow network and takes time from the cores of a
//! fast one. The numbers do not depend on it, so the first steps try both in turn, and the rest do what was faster.

use kuramoto_model::Group;

/// Steps of each kind that are timed.
const TIMED: usize = 6;

/// What the processes do, and how long it took.
pub(crate) struct Overlap {
    /// None until it is known.
    pub(crate) decided: Option<bool>,
    /// Seconds of steps without and with.
    seconds: [Vec<f64>; 2],
}

impl Overlap {
    /// As the first process is told, or by trial. A single one has nothing to send.
    pub(crate) fn new(told: Option<bool>, group: &dyn Group) -> Overlap {
        let mut answer = [told.map_or(2, u8::from)];
        group.broadcast(&mut answer);
        let told = [Some(false), Some(true), None][usize::from(answer[0])];
        Overlap { decided: if group.size() == 1 { Some(false) } else { told }, seconds: Default::default() }
    }

    /// What to do in the next step.
    pub(crate) fn now(&self) -> bool {
        self.decided.unwrap_or(self.seconds[1].len() < self.seconds[0].len())
    }

    /// A step has been taken. All processes do what the first one decides.
    pub(crate) fn took(&mut self, seconds: f64, group: &dyn Group) {
        if self.decided.is_some() {
            return;
        }
        self.seconds[usize::from(self.now())].push(seconds);
        // The first of each kind also touch their memory for the first time.
        if self.seconds.iter().all(|seconds| seconds.len() > TIMED) {
            let [without, with] = self.seconds.each_ref().map(|seconds| median(&seconds[1..]));
            self.decided = Some(group.any(group.rank() == 0 && with < without));
        }
    }
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kuramoto_model::Alone;
    use kuramoto_model::group::Played;

    fn in_each_of_two(work: impl Fn(Played) -> bool + Sync) -> Vec<bool> {
        std::thread::scope(|scope| {
            let started: Vec<_> = Played::cast(2).into_iter().map(|group| scope.spawn(|| work(group))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Two processes that measure otherwise do the same: what is faster for the first.
    #[test]
    fn all_do_what_is_faster_for_the_first() {
        for pays in [false, true] {
            let decide = |group: Played| {
                let mut overlap = Overlap::new(None, &group);
                for step in 0..20 {
                    let is_faster = (overlap.now() == pays) == (group.rank() == 0);
                    // One slow step is chance.
                    overlap.took(if is_faster && step > 1 { 1.0 } else { 2.0 + f64::from(step % 5) }, &group);
                }
                overlap.now()
            };
            assert_eq!(in_each_of_two(decide), [pays, pays]);
        }
    }

    /// Processes that are told otherwise follow the first.
    #[test]
    fn what_the_first_is_told_is_done() {
        for told in [false, true] {
            let of = |group: &dyn Group| Overlap::new(Some(told == (group.rank() == 0)), group).now();
            assert_eq!(in_each_of_two(|group| of(&group)), [told, told]);
            assert!(!Overlap::new(Some(told), &Alone).now(), "a single process has nothing to send");
        }
    }
}
