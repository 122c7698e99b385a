//! Every model behind one gate.
//!
//! [`formats`] speaks with providers, [`gate`] decides what may be asked now.

pub mod formats;
pub mod gate;
pub mod items;
