//! The documentation, inside the program.
//!
//! Every page of `docs/` is here as it was when the program was built. Beside them
//! stands one page for each operation of the catalogue and one for each key of the
//! configuration, made from their declarations when they are first asked for, so that
//! none of them can say something else. Nothing here reads a file or the network.
//!
//! A page is Markdown; [`render_html`] and [`render_terminal`] show it, [`find`] takes
//! what people call it, and [`search`] looks through the sections of all.

mod examples;
mod find;
mod html;
mod key_page;
mod links;
mod markdown;
mod operation_page;
mod pages;
mod schema;
mod search;
mod table;
mod terminal;

#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod tests;

pub use find::{UnknownPage, find};
pub use html::render_html;
pub use pages::{Neighbours, Page, neighbours, page, pages};
pub use search::search;
pub use terminal::{Colours, render_terminal};
