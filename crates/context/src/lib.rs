//! What an agent is told beside its first prompt: candidates in, a text that
//! fits its budget out.
//!
//! Candidates come from many sources and most were written by others, so a text
//! of theirs is only ever quoted: each of its lines stands behind a mark, and no
//! line of it can pass for one of the frame or of the person. No I/O, no clock:
//! the same candidates make the same text, whoever asks and whenever.

mod assemble;
mod candidate;
mod estimate;
mod likeness;
mod quote;
mod skill;

pub use assemble::{Assembly, Item, MOST_CANDIDATES, Outcome, Reason, Request, assemble};
pub use candidate::{Candidate, Length, Source};
pub use estimate::estimated_tokens;
pub use quote::{
    BEGIN, END, END_OWN, QUOTE, clean, is_frame_line, one_line, own_words, request_of, speech_of,
    with_own_words,
};
pub use skill::{LARGEST_SKILL, Skill, SkillError};
