//! Bracketed paste as a sign of who reads the keyboard.
//!
//! A program with a screen of its own asks for it once and keeps it. One that
//! reads lines with an editor (readline, prompt_toolkit) asks for it with each
//! prompt and withdraws it with each Enter: then it says, beside the picture,
//! whether it is reading.

/// What has become of it so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Paste {
    #[default]
    Never,
    /// Asked for, and kept since.
    Asked,
    /// Asked for and given back: nobody reads a line now.
    Withdrawn,
    /// Asked for once more: a line is read, and such a program says when.
    Again,
}

impl Paste {
    pub(crate) const NAMES: [(&'static str, Self); 4] = [
        ("never", Self::Never),
        ("asked", Self::Asked),
        ("withdrawn", Self::Withdrawn),
        ("again", Self::Again),
    ];

    /// After a look at the screen.
    pub(crate) const fn next(self, on: bool) -> Self {
        match (self, on) {
            (Self::Never, false) => Self::Never,
            (Self::Never | Self::Asked, true) => Self::Asked,
            (_, false) => Self::Withdrawn,
            (Self::Withdrawn | Self::Again, true) => Self::Again,
        }
    }

    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Never => "pastes in brackets were never asked for",
            Self::Asked => "pastes in brackets are asked for",
            Self::Withdrawn => "pastes in brackets are no longer asked for",
            Self::Again => "pastes in brackets are asked for again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_editor_is_known_once_it_has_withdrawn_its_wish() {
        let seen = |looks: &[bool]| looks.iter().fold(Paste::Never, |paste, on| paste.next(*on));
        assert_eq!(seen(&[false, false]), Paste::Never);
        assert_eq!(seen(&[false, true, true]), Paste::Asked);
        assert_eq!(seen(&[true, false, false]), Paste::Withdrawn);
        assert_eq!(seen(&[true, false, true, true]), Paste::Again);
        assert_eq!(seen(&[true, false, true, false]), Paste::Withdrawn);
    }
}
