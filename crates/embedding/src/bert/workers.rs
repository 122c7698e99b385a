//! Chunks of rows on several threads. A thread takes the next chunk when it is done
//! with one, so that one whose processor is busy otherwise holds up little.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Rows of a chunk at most: with their weights as much as the second cache holds.
const MOST_ROWS: usize = 128;

/// Fewer rows are not worth a thread.
const FEWEST_ROWS: usize = 24;

/// Threads at most. They are started for each piece of work, and with more of them the
/// pieces are too small for it.
const MOST_THREADS: usize = 8;

/// How the rows of a matrix are divided, and what each thread computes in.
#[derive(Debug)]
pub(super) struct Workers<S> {
    rows_per_chunk: usize,
    scratch: Vec<S>,
}

impl<S: Default + Send> Workers<S> {
    pub(super) fn new(rows: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self::with_threads(rows, processors.min(MOST_THREADS))
    }

    fn with_threads(rows: usize, threads: usize) -> Self {
        let threads = threads.min(rows / FEWEST_ROWS).max(1);
        let chunks = rows.div_ceil(MOST_ROWS).max(1).next_multiple_of(threads);
        Self {
            rows_per_chunk: rows.div_ceil(chunks).max(1),
            scratch: (0..threads).map(|_| S::default()).collect(),
        }
    }

    /// Does the work for each chunk of rows, which it gets with the number of its
    /// first row.
    pub(super) fn run(
        &mut self,
        values: &mut [f32],
        width: usize,
        work: impl Fn(usize, &mut [f32], &mut S) + Sync,
    ) {
        let rows = self.rows_per_chunk;
        let chunks = Mutex::new(values.chunks_mut(rows * width).enumerate());
        let work_on = |scratch: &mut S| {
            loop {
                let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, chunk)) = next else { break };
                work(number * rows, chunk, scratch);
            }
        };
        let Some((own, others)) = self.scratch.split_first_mut() else {
            return;
        };
        thread::scope(|scope| {
            for scratch in others {
                // Where no thread can be started, this one does all.
                let builder = thread::Builder::new().name("embedding".to_owned());
                let _ = builder.spawn_scoped(scope, || work_on(scratch));
            }
            work_on(own);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_worked_on_once() {
        for rows in [1, 23, 24, 48, 49, 127, 128, 129, 256, 1000] {
            for threads in [1, 2, 3, 8] {
                let mut workers: Workers<u32> = Workers::with_threads(rows, threads);
                let mut values = vec![0.0; rows * 2];
                workers.run(&mut values, 2, |first, chunk, count| {
                    *count += 1;
                    for (number, row) in chunk.chunks_exact_mut(2).enumerate() {
                        row[0] += 1.0;
                        row[1] += (first + number) as f32;
                    }
                });
                let expected: Vec<f32> = (0..rows).flat_map(|row| [1.0, row as f32]).collect();
                assert_eq!(values, expected);
                assert!(workers.rows_per_chunk <= MOST_ROWS);
            }
        }
    }
}
