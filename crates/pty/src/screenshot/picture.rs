//! The grid of a terminal at one moment, with colours resolved.
//!
//! A colour keeps where it came from, so that an ANSI rendering follows the
//! reader's own palette where the program did. A colour the program redefined
//! has no such origin any more: it is what it was set to.

use alacritty_terminal::Term;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::color::Colors;
use alacritty_terminal::vte::ansi::{Color, NamedColor, Rgb};
use missiond_semantic::Size;

use super::error::{MAX_PICTURE, PictureError};
use crate::reply::Theme;

#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    pub size: Size,
    /// For each row the glyphs that fill it; their widths add up to the columns.
    pub rows: Vec<Vec<Glyph>>,
    /// Row and column, where a cursor is shown.
    pub cursor: Option<(usize, usize)>,
    cursor_colour: Rgb,
}

/// One character with its marks and its looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Glyph {
    pub character: char,
    /// Combining marks and other characters without a width of their own.
    pub marks: String,
    /// Columns it takes: 1 or 2.
    pub columns: u16,
    pub foreground: Paint,
    pub background: Paint,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub inverse: bool,
    pub hidden: bool,
    pub strike: bool,
    pub underline: Option<Underline>,
    /// The colour of the underline where it is not that of the character.
    pub underline_paint: Option<Paint>,
}

impl Glyph {
    /// Whether lines are drawn with it.
    pub(super) const fn is_decorated(&self) -> bool {
        (self.underline.is_some() || self.strike) && !self.hidden
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Underline {
    Single,
    Double,
    Curly,
    Dotted,
    Dashed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    pub source: Source,
    pub rgb: Rgb,
}

/// Where a colour came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The terminal's own foreground or background.
    Default,
    /// One of the 256 of the palette.
    Palette(u8),
    /// Named by its value.
    Exact,
}

/// The two colours a glyph ends up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GlyphColours {
    pub ink: Rgb,
    pub paper: Rgb,
}

/// A colour whose value a theme may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hue {
    Foreground,
    Background,
    /// One of the first 16 of the palette.
    Named(u8),
    Exact(Rgb),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tint {
    pub hue: Hue,
    /// Mixed with what is below.
    pub dim: bool,
}

impl Tint {
    pub(super) fn of(hue: Hue) -> Self {
        Self { hue, dim: false }
    }
}

/// What the two colours of a glyph are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GlyphTints {
    pub ink: Tint,
    pub paper: Tint,
}

impl Paint {
    /// `default` is what stands for the terminal's own colour here.
    pub(super) fn hue(&self, default: Hue) -> Hue {
        match self.source {
            Source::Default => default,
            Source::Palette(index @ 0..16) => Hue::Named(index),
            Source::Palette(_) | Source::Exact => Hue::Exact(self.rgb),
        }
    }
}

impl Picture {
    pub(crate) fn of<T>(term: &Term<T>, theme: &Theme) -> Result<Self, PictureError> {
        let size = Size {
            columns: u16::try_from(term.columns()).unwrap_or(u16::MAX),
            rows: u16::try_from(term.screen_lines()).unwrap_or(u16::MAX),
        };
        if size.columns > MAX_PICTURE.columns || size.rows > MAX_PICTURE.rows {
            return Err(PictureError::TooLarge(size));
        }
        let palette = Palette {
            changed: term.colors(),
            theme,
        };
        let rows = (0..i32::from(size.rows))
            .map(|line| row_of(term, Line(line), &palette))
            .collect();
        let point = term.grid().cursor.point;
        let cursor = term
            .mode()
            .contains(TermMode::SHOW_CURSOR)
            .then_some((usize::try_from(point.line.0).unwrap_or(0), point.column.0));
        Ok(Self {
            size,
            rows,
            cursor,
            cursor_colour: palette.named(NamedColor::Cursor).rgb,
        })
    }

    /// The glyphs of a row, each with its column and its final colours.
    pub(super) fn coloured_glyphs(
        &self,
        row: usize,
    ) -> impl Iterator<Item = (usize, &Glyph, GlyphColours)> {
        self.placed_glyphs(row).map(|(column, glyph, cursor)| {
            let mut colours = glyph.colours();
            if cursor == Cursor::Here {
                colours = GlyphColours {
                    ink: colours.paper,
                    paper: self.cursor_colour,
                };
            }
            (column, glyph, colours)
        })
    }

    /// The same, with what each colour is called in place of its value.
    pub(super) fn tinted_glyphs(
        &self,
        row: usize,
    ) -> impl Iterator<Item = (usize, &Glyph, GlyphTints)> {
        self.placed_glyphs(row).map(|(column, glyph, cursor)| {
            let mut tints = glyph.tints();
            if cursor == Cursor::Here {
                tints = GlyphTints {
                    ink: tints.paper,
                    paper: Tint::of(Hue::Foreground),
                };
            }
            (column, glyph, tints)
        })
    }

    fn placed_glyphs(&self, row: usize) -> impl Iterator<Item = (usize, &Glyph, Cursor)> {
        let mut next = 0;
        let glyphs = self.rows.get(row).map_or(&[][..], Vec::as_slice);
        glyphs.iter().map(move |glyph| {
            let column = next;
            next += usize::from(glyph.columns);
            let is_here = self
                .cursor
                .is_some_and(|(line, at)| line == row && (column..next).contains(&at));
            let cursor = if is_here {
                Cursor::Here
            } else {
                Cursor::Elsewhere
            };
            (column, glyph, cursor)
        })
    }
}

/// Where the cursor is, seen from a glyph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Here,
    Elsewhere,
}

impl Glyph {
    /// It draws nothing but its background.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let empty = self.character == ' ' && self.marks.is_empty();
        self.hidden || empty && self.underline.is_none() && !self.strike
    }

    fn tints(&self) -> GlyphTints {
        let ink = Tint {
            hue: self.foreground.hue(Hue::Foreground),
            dim: self.dim,
        };
        let paper = Tint::of(self.background.hue(Hue::Background));
        if self.inverse {
            GlyphTints {
                ink: paper,
                paper: ink,
            }
        } else {
            GlyphTints { ink, paper }
        }
    }

    fn colours(&self) -> GlyphColours {
        let (ink, paper) = (self.foreground.rgb, self.background.rgb);
        let ink = if self.dim {
            blend(ink, paper, 160)
        } else {
            ink
        };
        if self.inverse {
            GlyphColours {
                ink: paper,
                paper: ink,
            }
        } else {
            GlyphColours { ink, paper }
        }
    }
}

/// `share` of 255 parts of one colour over another.
pub(super) fn blend(over: Rgb, under: Rgb, share: u8) -> Rgb {
    let mix = |over: u8, under: u8| {
        let share = u32::from(share);
        ((u32::from(over) * share + u32::from(under) * (255 - share) + 127) / 255) as u8
    };
    Rgb {
        r: mix(over.r, under.r),
        g: mix(over.g, under.g),
        b: mix(over.b, under.b),
    }
}

fn row_of<T>(term: &Term<T>, line: Line, palette: &Palette<'_>) -> Vec<Glyph> {
    let cells = &term.grid()[line];
    let columns = term.columns();
    let mut glyphs = Vec::with_capacity(columns);
    let mut column = 0;
    while column < columns {
        let cell = &cells[Column(column)];
        let has_room = column + 1 < columns
            && cells[Column(column + 1)]
                .flags
                .contains(Flags::WIDE_CHAR_SPACER);
        let wide = cell.flags.contains(Flags::WIDE_CHAR) && has_room;
        glyphs.push(glyph_of(cell, if wide { 2 } else { 1 }, palette));
        column += if wide { 2 } else { 1 };
    }
    glyphs
}

fn glyph_of(cell: &Cell, columns: u16, palette: &Palette<'_>) -> Glyph {
    let has = |flag| cell.flags.contains(flag);
    let spacer = cell
        .flags
        .intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER);
    // Deleting and inserting can tear a wide character from its second cell.
    // Half of it is blank, as on other terminals.
    let torn = has(Flags::WIDE_CHAR) && columns == 1;
    let underline = [
        (Flags::UNDERLINE, Underline::Single),
        (Flags::DOUBLE_UNDERLINE, Underline::Double),
        (Flags::UNDERCURL, Underline::Curly),
        (Flags::DOTTED_UNDERLINE, Underline::Dotted),
        (Flags::DASHED_UNDERLINE, Underline::Dashed),
    ]
    .into_iter()
    .find_map(|(flag, underline)| has(flag).then_some(underline));
    Glyph {
        character: match cell.c {
            '\t' => ' ',
            _ if spacer || torn => ' ',
            character => character,
        },
        marks: if torn {
            String::new()
        } else {
            cell.zerowidth().into_iter().flatten().collect()
        },
        columns,
        foreground: palette.paint(cell.fg),
        background: palette.paint(cell.bg),
        bold: has(Flags::BOLD),
        dim: has(Flags::DIM),
        italic: has(Flags::ITALIC),
        inverse: has(Flags::INVERSE),
        hidden: has(Flags::HIDDEN),
        strike: has(Flags::STRIKEOUT),
        underline,
        underline_paint: cell.underline_color().map(|colour| palette.paint(colour)),
    }
}

/// The theme's colours, below those the program changed (OSC 4, 10, 11, 12).
struct Palette<'a> {
    changed: &'a Colors,
    theme: &'a Theme,
}

impl Palette<'_> {
    fn paint(&self, colour: Color) -> Paint {
        match colour {
            Color::Named(name) => self.named(name),
            Color::Indexed(index) => self.indexed(index),
            Color::Spec(rgb) => Paint {
                source: Source::Exact,
                rgb,
            },
        }
    }

    fn indexed(&self, index: u8) -> Paint {
        self.resolve(usize::from(index), Source::Palette(index))
    }

    fn named(&self, name: NamedColor) -> Paint {
        use NamedColor as N;
        let base = match name {
            N::Foreground | N::BrightForeground | N::DimForeground => N::Foreground,
            N::DimBlack => N::Black,
            N::DimRed => N::Red,
            N::DimGreen => N::Green,
            N::DimYellow => N::Yellow,
            N::DimBlue => N::Blue,
            N::DimMagenta => N::Magenta,
            N::DimCyan => N::Cyan,
            N::DimWhite => N::White,
            other => other,
        };
        match u8::try_from(base as usize) {
            Ok(index) => self.indexed(index),
            Err(_) => self.resolve(base as usize, Source::Default),
        }
    }

    fn resolve(&self, index: usize, source: Source) -> Paint {
        match (self.changed[index], self.theme.colour(index)) {
            (Some(rgb), _) => Paint {
                source: Source::Exact,
                rgb,
            },
            (None, Some(rgb)) => Paint { source, rgb },
            (None, None) => Paint {
                source,
                rgb: self.theme.foreground,
            },
        }
    }
}
