//! Characters that are figures rather than letters, by geometry: lines, blocks,
//! braille, and the triangles of status lines. Like lines, they fill their cells
//! to the edge.

use super::lines;
use super::mask::{CELL_HEIGHT, Mask};

/// The figure, if the character is one.
pub(super) fn draw(character: char, columns: u16) -> Option<Mask> {
    let mut mask = Mask::of_columns(columns);
    let drawn = match character {
        '\u{2500}'..='\u{257f}' => lines::draw(character, &mut mask),
        '\u{2580}'..='\u{259f}' => block(character, &mut mask),
        '\u{2800}'..='\u{28ff}' => braille(u32::from(character) - 0x2800, &mut mask),
        '\u{1fb00}'..='\u{1fb3b}' => sextant(u32::from(character) - 0x1fb00, &mut mask),
        '●' | '⏺' | '○' | '◉' | '◯' => dot(character, &mut mask),
        '❯' => chevron(1.3, &mut mask),
        '›' => chevron(0.7, &mut mask),
        _ => status_line(character, &mut mask),
    };
    drawn.then_some(mask)
}

fn block(character: char, mask: &mut Mask) -> bool {
    let width = mask.width();
    let down = |eighths: usize| (CELL_HEIGHT * eighths + 4) / 8;
    let across = |eighths: usize| (width * eighths + 4) / 8;
    let eighths = u32::from(character) as usize;
    match character {
        '▀' => mask.fill(0..width, 0..down(4)),
        // One to eight eighths from below.
        '\u{2581}'..='\u{2588}' => {
            mask.fill(0..width, down(8 - (eighths - 0x2580))..CELL_HEIGHT);
        }
        // Seven to one eighths from the left.
        '\u{2589}'..='\u{258f}' => mask.fill(0..across(0x2590 - eighths), 0..CELL_HEIGHT),
        '▐' => mask.fill(across(4)..width, 0..CELL_HEIGHT),
        '░' => mask.shade(64),
        '▒' => mask.shade(128),
        '▓' => mask.shade(192),
        '▔' => mask.fill(0..width, 0..down(1)),
        '▕' => mask.fill(across(7)..width, 0..CELL_HEIGHT),
        _ => {
            // Upper left, upper right, lower left, lower right.
            let quarters = match character {
                '▖' => 0b0010,
                '▗' => 0b0001,
                '▘' => 0b1000,
                '▙' => 0b1011,
                '▚' => 0b1001,
                '▛' => 0b1110,
                '▜' => 0b1101,
                '▝' => 0b0100,
                '▞' => 0b0110,
                _ => 0b0111,
            };
            for (bit, x, y) in [
                (0b1000, 0..across(4), 0..down(4)),
                (0b0100, across(4)..width, 0..down(4)),
                (0b0010, 0..across(4), down(4)..CELL_HEIGHT),
                (0b0001, across(4)..width, down(4)..CELL_HEIGHT),
            ] {
                if quarters & bit != 0 {
                    mask.fill(x, y);
                }
            }
        }
    }
    true
}

/// Dots 1 to 3 and 7 are the left column, 4 to 6 and 8 the right one.
fn braille(dots: u32, mask: &mut Mask) -> bool {
    for (bit, column, row) in [
        (0, 0, 0),
        (1, 0, 1),
        (2, 0, 2),
        (3, 1, 0),
        (4, 1, 1),
        (5, 1, 2),
        (6, 0, 3),
        (7, 1, 3),
    ] {
        if dots & (1 << bit) != 0 {
            let x = (mask.width() * (2 * column + 1)) / 4 - 1;
            let y = (CELL_HEIGHT * (2 * row + 1)) / 8 - 1;
            mask.fill(x..x + 2, y..y + 2);
        }
    }
    true
}

/// Six parts, numbered by rows. The patterns that are blocks of their own (left
/// half, right half) are left out of the range.
fn sextant(index: u32, mask: &mut Mask) -> bool {
    let mut parts = index + 1;
    for half in [0b01_0101, 0b10_1010] {
        if parts >= half {
            parts += 1;
        }
    }
    let middle = mask.width().div_ceil(2);
    for part in 0..6 {
        if parts & (1 << part) != 0 {
            let row = part / 2;
            let x = if part % 2 == 0 {
                0..middle
            } else {
                middle..mask.width()
            };
            mask.fill(x, CELL_HEIGHT * row / 3..CELL_HEIGHT * (row + 1) / 3);
        }
    }
    true
}

/// The dots agents put before what they did; round, which eight pixels of a
/// bitmap font are not.
fn dot(character: char, mask: &mut Mask) -> bool {
    let (width, height) = (mask.width() as f32, CELL_HEIGHT as f32);
    let distance = |x: f32, y: f32| ((x - 0.5) * width).hypot(y * height - (height / 2.0 + 0.5));
    mask.figure(|x, y| {
        let distance = distance(x, y);
        match character {
            '○' | '◯' => (2.6..3.8).contains(&distance),
            '◉' => distance < 1.8 || (2.9..3.9).contains(&distance),
            _ => distance < 3.8,
        }
    });
    true
}

/// The pointer before prompts and chosen options.
fn chevron(half_thickness: f32, mask: &mut Mask) -> bool {
    let (width, height) = (mask.width() as f32, CELL_HEIGHT as f32);
    mask.figure(|x, y| {
        let away = (y * height - (height / 2.0 + 0.5)).abs();
        let middle = width / 2.0 + 2.0 - away * 0.8;
        away < 4.5 && (x * width - middle).abs() < half_thickness
    });
    true
}

/// The private characters status lines are made of, and their public cousins.
fn status_line(character: char, mask: &mut Mask) -> bool {
    let tip = |x: f32, y: f32| x <= 1.0 - (2.0 * y - 1.0).abs();
    let edge = |x: f32, y: f32| tip(x, y) && !tip(x + 0.16, y);
    let round = |x: f32, y: f32| x * x + (2.0 * y - 1.0).powi(2) <= 1.0;
    let rim = |x: f32, y: f32| round(x, y) && !round(x + 0.14, y);
    match character {
        '\u{e0b0}' => mask.figure(tip),
        '\u{e0b1}' => mask.figure(edge),
        '\u{e0b2}' => mask.figure(|x, y| tip(1.0 - x, y)),
        '\u{e0b3}' => mask.figure(|x, y| edge(1.0 - x, y)),
        '\u{e0b4}' => mask.figure(round),
        '\u{e0b5}' => mask.figure(rim),
        '\u{e0b6}' => mask.figure(|x, y| round(1.0 - x, y)),
        '\u{e0b7}' => mask.figure(|x, y| rim(1.0 - x, y)),
        '\u{e0b8}' | '◣' => mask.figure(|x, y| x <= y),
        '\u{e0ba}' | '◢' => mask.figure(|x, y| 1.0 - x <= y),
        '\u{e0bc}' | '◤' => mask.figure(|x, y| x <= 1.0 - y),
        '\u{e0be}' | '◥' => mask.figure(|x, y| 1.0 - x <= 1.0 - y),
        _ => return false,
    }
    true
}
