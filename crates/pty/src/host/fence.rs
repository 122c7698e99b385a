//! Who may speak to the program of a slot. Programs follow each other there, one at a
//! time, each with the next number; a connection belongs to the program it was made for.
//!
//! | | connection of the program | of an earlier one | while it hands off |
//! |---|---|---|---|
//! | hello | let in | shut out | let in |
//! | input | taken | cannot be: it was hung up on | refused |
//! | handoff | begun, if its number is the next; at once, if the program has ended | | refused |
//! | end | | | the handoff is off, and the slot ends |

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    generation: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    HandingOff,
}

impl Fence {
    pub(super) fn new(generation: u32) -> Self {
        Self {
            generation,
            state: State::Open,
        }
    }

    /// Whether a connection for this program is let in.
    pub(super) fn admits(self, generation: u32) -> bool {
        self.generation == generation
    }

    pub(super) fn takes_input(self) -> bool {
        self.state == State::Open
    }

    /// Another program is to follow; a sentence if it cannot.
    pub(super) fn begin(&mut self, next: u32) -> Result<(), String> {
        if self.state == State::HandingOff {
            return Err("the slot is being handed over already".to_owned());
        }
        if self.generation.checked_add(1) != Some(next) {
            return Err(format!(
                "program {next} does not follow program {}",
                self.generation
            ));
        }
        self.state = State::HandingOff;
        Ok(())
    }

    /// The slot is to end, or the next program did not start.
    pub(super) fn cancel(&mut self) {
        self.state = State::Open;
    }

    /// The next program runs: whoever is connected belongs to the one before.
    pub(super) fn complete(&mut self) {
        self.generation += 1;
        self.state = State::Open;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What daemons do, in any order: there may be several, and each may be late.
    #[derive(Debug, Clone)]
    enum Step {
        Hello { daemon: usize, generation: u32 },
        Input { daemon: usize },
        Handoff { daemon: usize, to: u32 },
        Started,
        NotStarted,
        End,
    }

    fn step() -> impl Strategy<Value = Step> {
        let daemon = 0_usize..3;
        let generation = 1_u32..6;
        prop_oneof![
            3 => (daemon.clone(), generation.clone())
                .prop_map(|(daemon, generation)| Step::Hello { daemon, generation }),
            4 => daemon.clone().prop_map(|daemon| Step::Input { daemon }),
            3 => (daemon, generation).prop_map(|(daemon, to)| Step::Handoff { daemon, to }),
            2 => Just(Step::Started),
            1 => Just(Step::NotStarted),
            1 => Just(Step::End),
        ]
    }

    proptest! {
        /// Whatever order things come in: what is written reaches the program its sender
        /// believes to speak to, from one sender, and never while none runs.
        #[test]
        fn one_program_at_a_time_hears_only_who_speaks_to_it(
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let mut fence = Fence::new(1);
            // The host serves one connection: the last that was let in.
            let mut served: Option<(usize, u32)> = None;
            let mut running = 1;
            let mut ending = false;
            for step in steps {
                match step {
                    Step::Hello { daemon, generation } => {
                        if fence.admits(generation) {
                            prop_assert_eq!(generation, running);
                            served = Some((daemon, generation));
                        }
                    }
                    Step::Input { daemon } => {
                        if let Some((who, believes)) = served
                            && who == daemon
                            && fence.takes_input()
                        {
                            prop_assert!(!ending, "input for a program that is being ended");
                            prop_assert_eq!(believes, running);
                        }
                    }
                    Step::Handoff { daemon, to } => {
                        if served.is_some_and(|(who, _)| who == daemon) {
                            let begun = fence.begin(to).is_ok();
                            prop_assert_eq!(begun, !ending && to == running + 1);
                            ending |= begun;
                        }
                    }
                    Step::Started if ending => {
                        fence.complete();
                        (running, served, ending) = (running + 1, None, false);
                    }
                    Step::NotStarted | Step::End if ending => {
                        fence.cancel();
                        ending = false;
                    }
                    Step::Started | Step::NotStarted | Step::End => {}
                }
            }
        }
    }
}
