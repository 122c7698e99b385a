//! What is measured of missiond, apart from the program that prints it.
//!
//! [`score`] compares readings of recordings with their labels, [`evaluation`]
//! what a search finds with what it should, [`identifiers`] whether names are
//! found to the letter; [`latency`] and [`journal`] measure time. The program
//! `mission-bench` runs these, and benches of whole daemons, from the command
//! line. Nothing here is part of `mission`.

pub mod evaluation;
pub mod identifiers;
pub mod journal;
pub mod latency;
pub mod score;
