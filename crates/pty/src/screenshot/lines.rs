//! Box drawing, U+2500 to U+257F, by geometry.
//!
//! A font's lines end where its designer thought the cell would; these end at
//! the cell's edge, so neighbours join without a seam.

use super::mask::{CELL_HEIGHT, Mask};

/// The middle of a double line's strokes lies this far from its axis.
const GAP: isize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    None,
    Light,
    Heavy,
    Double,
}

/// Arms from the middle of the cell to its edges.
#[derive(Debug, Clone, Copy)]
struct Arms {
    left: Weight,
    right: Weight,
    up: Weight,
    down: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Horizontal,
    Vertical,
}

/// Covers what the character draws, if it is a line.
pub(super) fn draw(character: char, mask: &mut Mask) -> bool {
    match character {
        '┄' | '┅' | '┈' | '┉' | '╌' | '╍' | '┆' | '┇' | '┊' | '┋' | '╎' | '╏' =>
        {
            dashes(character, mask);
        }
        '╭' => corner(mask, 1, 1),
        '╮' => corner(mask, -1, 1),
        '╯' => corner(mask, -1, -1),
        '╰' => corner(mask, 1, -1),
        '╱' => mask.figure(rising),
        '╲' => mask.figure(|x, y| rising(1.0 - x, y)),
        '╳' => mask.figure(|x, y| rising(x, y) || rising(1.0 - x, y)),
        _ => match arms_of(character) {
            Some(arms) => draw_arms(arms, mask),
            None => return false,
        },
    }
    true
}

fn rising(x: f32, y: f32) -> bool {
    (x + y - 1.0).abs() < 0.08
}

fn draw_arms(arms: Arms, mask: &mut Mask) {
    let Arms {
        left,
        right,
        up,
        down,
    } = arms;
    let across = [up, down];
    arm(mask, Axis::Horizontal, Side::Before, left, right, across);
    arm(mask, Axis::Horizontal, Side::After, right, left, across);
    let across = [left, right];
    arm(mask, Axis::Vertical, Side::Before, up, down, across);
    arm(mask, Axis::Vertical, Side::After, down, up, across);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// One arm. `opposite` is the arm that goes on beyond the middle, `across` the
/// two at right angles, the one before the axis first.
fn arm(
    mask: &mut Mask,
    axis: Axis,
    side: Side,
    weight: Weight,
    opposite: Weight,
    across: [Weight; 2],
) {
    let double = |weight| weight == Weight::Double;
    match weight {
        Weight::None => {}
        Weight::Double => {
            for (index, offset) in [(0, -GAP), (1, GAP)] {
                let (same, other) = (across[index], across[1 - index]);
                let reach = match (double(same), double(other)) {
                    (true, _) => -GAP,
                    (false, true) => GAP,
                    (false, false) => 0,
                };
                stroke(mask, axis, side, offset..offset + 1, reach);
            }
        }
        Weight::Light | Weight::Heavy => {
            let reach = match (across.map(double), opposite) {
                ([false, false], _) if across.contains(&Weight::Heavy) => 1,
                ([false, false], _) => 0,
                (_, Weight::Light | Weight::Heavy | Weight::Double) => 0,
                ([true, true], Weight::None) => -GAP,
                (_, Weight::None) => GAP,
            };
            let thickness = if weight == Weight::Heavy { -1..2 } else { 0..1 };
            stroke(mask, axis, side, thickness, reach);
        }
    }
}

/// From the edge on `side` to `reach` pixels beyond the middle.
fn stroke(
    mask: &mut Mask,
    axis: Axis,
    side: Side,
    thickness: std::ops::Range<isize>,
    reach: isize,
) {
    let (middle_x, middle_y) = middle(mask);
    let (length, along, beside) = match axis {
        Axis::Horizontal => (mask.width() as isize, middle_x, middle_y),
        Axis::Vertical => (CELL_HEIGHT as isize, middle_y, middle_x),
    };
    let extent = match side {
        Side::Before => 0..along + reach + 1,
        Side::After => along - reach..length,
    };
    for a in extent {
        for b in thickness.clone() {
            match axis {
                Axis::Horizontal => mask.cover(a, beside + b, u8::MAX),
                Axis::Vertical => mask.cover(beside + b, a, u8::MAX),
            }
        }
    }
}

fn middle(mask: &Mask) -> (isize, isize) {
    (mask.width() as isize / 2, CELL_HEIGHT as isize / 2)
}

fn dashes(character: char, mask: &mut Mask) {
    let count = match character {
        '╌' | '╍' | '╎' | '╏' => 2,
        '┄' | '┅' | '┆' | '┇' => 3,
        _ => 4,
    };
    let axis = match character {
        '┆' | '┇' | '┊' | '┋' | '╎' | '╏' => Axis::Vertical,
        _ => Axis::Horizontal,
    };
    let thickness = match character {
        '┅' | '┉' | '╍' | '┇' | '┋' | '╏' => -1..2,
        _ => 0..1,
    };
    let (middle_x, middle_y) = middle(mask);
    let length = match axis {
        Axis::Horizontal => mask.width(),
        Axis::Vertical => CELL_HEIGHT,
    };
    for at in 0..length {
        // The last third of each part is the gap.
        if at * count % length * 3 >= length * 2 {
            continue;
        }
        for b in thickness.clone() {
            match axis {
                Axis::Horizontal => mask.cover(at as isize, middle_y + b, u8::MAX),
                Axis::Vertical => mask.cover(middle_x + b, at as isize, u8::MAX),
            }
        }
    }
}

/// A rounded corner from the edge at `right` (1 or -1) to that at `down`.
fn corner(mask: &mut Mask, right: isize, down: isize) {
    let (middle_x, middle_y) = middle(mask);
    let radius = middle_x.min(middle_y);
    for y in 0..CELL_HEIGHT as isize {
        for x in 0..mask.width() as isize {
            // Seen from the middle, with the arms pointing to the positive side.
            let (a, b) = ((x - middle_x) * right, (y - middle_y) * down);
            if a < 0 || b < 0 {
                continue;
            }
            let coverage = if a <= radius && b <= radius {
                let distance = ((a - radius) as f32).hypot((b - radius) as f32);
                (1.0 - (distance - radius as f32).abs()).clamp(0.0, 1.0) * 255.0
            } else if a == 0 || b == 0 {
                255.0
            } else {
                0.0
            };
            mask.cover(x, y, coverage as u8);
        }
    }
}

/// Left, right, up and down of each character: `-` nothing, `l` light, `h`
/// heavy, `d` double. Four dots for those that are drawn otherwise.
const ARMS: [&str; 8] = [
    "ll-- hh-- --ll --hh .... .... .... .... .... .... .... .... -l-l -h-l -l-h -h-h",
    "l--l h--l l--h h--h -ll- -hl- -lh- -hh- l-l- h-l- l-h- h-h- -lll -hll -lhl -llh",
    "-lhh -hhl -hlh -hhh l-ll h-ll l-hl l-lh l-hh h-hl h-lh h-hh ll-l hl-l lh-l hh-l",
    "ll-h hl-h lh-h hh-h lll- hll- lhl- hhl- llh- hlh- lhh- hhh- llll hlll lhll hhll",
    "llhl lllh llhh hlhl lhhl hllh lhlh hhhl hhlh hlhh lhhh hhhh .... .... .... ....",
    "dd-- --dd -d-l -l-d -d-d d--l l--d d--d -dl- -ld- -dd- d-l- l-d- d-d- -dll -ldd",
    "-ddd d-ll l-dd d-dd dd-l ll-d dd-d ddl- lld- ddd- ddll lldd dddd .... .... ....",
    ".... .... .... .... l--- --l- -l-- ---l h--- --h- -h-- ---h lh-- --lh hl-- --hl",
];

fn arms_of(character: char) -> Option<Arms> {
    let index = usize::try_from(u32::from(character).checked_sub(0x2500)?).ok()?;
    let arms = ARMS.get(index / 16)?.split(' ').nth(index % 16)?;
    let weights: Vec<Weight> = arms
        .chars()
        .filter_map(|letter| match letter {
            '-' => Some(Weight::None),
            'l' => Some(Weight::Light),
            'h' => Some(Weight::Heavy),
            'd' => Some(Weight::Double),
            _ => None,
        })
        .collect();
    match weights[..] {
        [left, right, up, down] => Some(Arms {
            left,
            right,
            up,
            down,
        }),
        _ => None,
    }
}
