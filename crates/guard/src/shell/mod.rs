//! A line for a shell, understood: read by a grammar ([`parse`]), then followed
//! ([`trace`]) as a shell would run it, with what its variables, folders, functions
//! and substitutions are as far as that can be told without running anything. What
//! comes out is every program it would run with its words, and every file that the
//! shell itself opens. What cannot be told is said to be so, and then nothing allows
//! it.

mod builtins;
mod evaluate;
mod expand;
pub(crate) mod language;
mod launch;
mod made;
mod number;
mod parse;
pub(crate) mod parts;
mod scan;
mod substitute;
pub(crate) mod trace;
mod tree;
pub(crate) mod value;
pub(crate) mod variables;

pub(crate) use parse::parse;
pub(crate) use trace::{Run, Trace};

/// Bytes of a script that are read.
pub(crate) const MAX_TEXT: usize = 256 * 1024;

/// How deep commands, substitutions and scripts within scripts are followed.
pub(crate) const MAX_DEPTH: u32 = 24;

/// Why a script cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclear {
    #[error("it is no sentence of a shell's grammar")]
    Syntax,
    #[error("a quote, a group or a substitution is left open")]
    Open,
    #[error("it holds a character that cannot be seen, or a blank that is none to a shell")]
    Invisible,
    #[error("shells differ in what they take it for")]
    Unusual,
    #[error("it goes too deep")]
    TooDeep,
    #[error("it is too long")]
    TooLong,
}

/// Whether a character is one that people see, or a blank that shells know.
pub(crate) fn is_plain(c: char) -> bool {
    let invisible = matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        | '\u{0085}');
    let odd_blank = c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n');
    !(invisible || odd_blank || (c.is_control() && c != '\n' && c != '\t'))
}
