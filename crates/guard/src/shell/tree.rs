//! What a script is made of, once it is read.

/// A command, simple or compound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Simple(Simple),
    /// Commands whose output is the next one's input.
    Pipeline(Vec<Command>),
    /// A group, a subshell, a branch or a loop: lists that run, any number of times.
    Block {
        lists: Vec<Vec<Command>>,
        redirects: Vec<Redirect>,
        /// Whether what it changes (folder, variables) ends with it.
        subshell: bool,
    },
    For {
        name: String,
        /// None: the arguments of the script.
        words: Option<Vec<Word>>,
        body: Vec<Command>,
        redirects: Vec<Redirect>,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, Vec<Command>)>,
        redirects: Vec<Redirect>,
    },
    Function {
        name: String,
        body: Box<Command>,
    },
    /// `[[ … ]]`: nothing runs but what is substituted in its words.
    Condition(Vec<Word>),
    /// `(( … ))`.
    Arithmetic(Word),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assign {
    pub(crate) name: String,
    /// `+=`, or an element or a list of an array: what it makes is not known.
    pub(crate) partial: bool,
    /// `name+=value`.
    pub(crate) appends: bool,
    pub(crate) value: Word,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    ReadWrite,
    /// A copy of another descriptor.
    Duplicate,
    /// Text that stands in the script.
    Text,
}

/// A word as it was written, and its pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) written: String,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text outside of quotes: wildcards, braces and `~` mean something in it.
    Bare(String),
    Quoted(String),
    Variable {
        name: String,
        /// What stands between the name and the closing brace.
        rest: Option<Rest>,
        quoted: bool,
    },
    Output {
        script: Vec<Command>,
        quoted: bool,
    },
    /// `<( )` and `>( )`.
    Process(Vec<Command>),
    /// `$(( ))`: the pieces within.
    Number(Vec<Piece>),
}

/// `${name OPERATOR word}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) operator: String,
    pub(crate) word: Word,
}

impl Word {
    /// The word when nothing in it has to be expanded.
    pub(crate) fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bare(part) | Piece::Quoted(part) => text.push_str(part),
                _ => return None,
            }
        }
        Some(text)
    }
}
