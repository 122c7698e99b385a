//! Vectors on a plane: where each lies along the two directions in which the set
//! spreads most (its first principal components), found by a few rounds of power
//! iteration. The same vectors give the same picture.

use crate::simd::dot;

/// Rounds at most; each turns the axes closer to the directions of most spread.
const ROUNDS: usize = 40;

/// Axes that turn by less than this in a round are good enough to look at.
const STILL: f32 = 1e-4;

/// Where vectors lie on the plane.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// One for each vector; the farthest from the middle lies at 1 or -1.
    pub points: Vec<[f32; 2]>,
    /// Which share of the set's spread the plane shows, 0 to 1.
    pub shown: f32,
}

/// Lays vectors, one after the other in `rows`, out on the plane.
#[must_use]
pub fn project(rows: &[f32], dimension: usize) -> Projection {
    let count = rows.len().checked_div(dimension).unwrap_or(0);
    if count < 2 {
        return Projection {
            points: vec![[0.0, 0.0]; count],
            shown: if count == 0 { 0.0 } else { 1.0 },
        };
    }
    let centred = centred(rows, dimension, count);
    let spread = f64::from(dot(&centred, &centred));
    if spread <= f64::from(f32::EPSILON) * count as f64 {
        return Projection {
            points: vec![[0.0, 0.0]; count],
            shown: 1.0,
        };
    }
    let axes = axes(&centred, dimension);
    let mut points: Vec<[f32; 2]> = centred
        .chunks_exact(dimension)
        .map(|row| [dot(row, &axes[0]), dot(row, &axes[1])])
        .collect();
    let seen: f64 = points
        .iter()
        .map(|[x, y]| f64::from(x * x) + f64::from(y * y))
        .sum();
    to_unit(&mut points);
    Projection {
        points,
        shown: (seen / spread).clamp(0.0, 1.0) as f32,
    }
}

/// The vectors around their middle.
fn centred(rows: &[f32], dimension: usize, count: usize) -> Vec<f32> {
    let mut middle = vec![0.0_f32; dimension];
    for row in rows.chunks_exact(dimension) {
        for (sum, value) in middle.iter_mut().zip(row) {
            *sum += value / count as f32;
        }
    }
    rows.chunks_exact(dimension)
        .flat_map(|row| row.iter().zip(&middle).map(|(value, mean)| value - mean))
        .collect()
}

/// The two directions of most spread, at right angles.
fn axes(centred: &[f32], dimension: usize) -> [Vec<f32>; 2] {
    let mut axes = [start(dimension, 1), start(dimension, 2)];
    set_upright(&mut axes);
    for _ in 0..ROUNDS {
        let mut next = [vec![0.0_f32; dimension], vec![0.0_f32; dimension]];
        for row in centred.chunks_exact(dimension) {
            for (axis, sum) in axes.iter().zip(&mut next) {
                let along = dot(row, axis);
                for (sum, value) in sum.iter_mut().zip(row) {
                    *sum += along * value;
                }
            }
        }
        set_upright(&mut next);
        let still = axes
            .iter()
            .zip(&next)
            .all(|(old, new)| 1.0 - dot(old, new).abs() < STILL * STILL);
        axes = next;
        if still {
            break;
        }
    }
    for axis in &mut axes {
        point_up(axis);
    }
    axes
}

/// Numbers without a pattern, the same every time.
fn start(dimension: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..dimension)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
        })
        .collect()
}

/// Length 1 and at right angles. A set that spreads in one direction only has no
/// second axis: that one is then zero, and everything lies on a line.
fn set_upright(axes: &mut [Vec<f32>; 2]) {
    let [first, second] = axes;
    let length = make_unit(first, 0.0);
    let along = dot(first, second);
    for (value, other) in second.iter_mut().zip(first.iter()) {
        *value -= along * other;
    }
    make_unit(second, length * 1e-6);
}

/// Makes the length 1, or 0 when it is nothing but rounding.
fn make_unit(vector: &mut [f32], nothing: f32) -> f32 {
    let length = dot(vector, vector).sqrt();
    let factor = if length.is_finite() && length > nothing.max(f32::MIN_POSITIVE) {
        1.0 / length
    } else {
        0.0
    };
    for value in vector {
        *value *= factor;
    }
    length
}

/// A direction and its opposite spread the same: the one whose largest part is
/// positive is taken, so that a picture is not mirrored from one day to the next.
fn point_up(axis: &mut [f32]) {
    let largest = axis.iter().copied().fold(0.0_f32, |most, value| {
        if value.abs() > most.abs() {
            value
        } else {
            most
        }
    });
    if largest < 0.0 {
        for value in axis {
            *value = -*value;
        }
    }
}

/// The same scale for both directions, so that distances stay comparable.
fn to_unit(points: &mut [[f32; 2]]) {
    let farthest = points
        .iter()
        .flatten()
        .fold(0.0_f32, |most, value| most.max(value.abs()));
    if farthest > 0.0 {
        for value in points.iter_mut().flatten() {
            *value /= farthest;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
        ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
    }

    #[test]
    fn a_plane_in_many_dimensions_is_found_and_nothing_of_it_is_lost() {
        // Points of a plane that stands askew in ten dimensions.
        let across = [0.5, -0.5, 0.5, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let along = [0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.8, 0.0, 0.0, 0.0];
        let flat = [[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [0.0, 1.0], [2.0, 3.0]];
        let rows: Vec<f32> = flat
            .iter()
            .flat_map(|[x, y]| (0..10).map(move |d| x * across[d] + y * along[d] + 7.0))
            .collect();
        let made = project(&rows, 10);
        assert!(made.shown > 0.9999, "{}", made.shown);
        let scale = distance(made.points[0], made.points[1]) / 4.0;
        for (i, a) in flat.iter().enumerate() {
            for (j, b) in flat.iter().enumerate() {
                let on_plane = distance(made.points[i], made.points[j]) / scale;
                assert!(
                    (on_plane - distance(*a, *b)).abs() < 0.01,
                    "{i} {j} {on_plane}"
                );
            }
        }
    }

    #[test]
    fn groups_that_are_apart_stay_apart() {
        let mut rows = Vec::new();
        for number in 0..60 {
            let mut row = start(64, number + 10);
            row.iter_mut().for_each(|value| *value *= 0.1);
            row[(number % 3) as usize * 20] += 1.0;
            rows.extend(row);
        }
        let made = project(&rows, 64);
        let own = |a: usize, b: usize| a % 3 == b % 3;
        let mut within = 0.0_f32;
        let mut between = f32::INFINITY;
        for a in 0..60 {
            for b in 0..60 {
                let apart = distance(made.points[a], made.points[b]);
                if own(a, b) {
                    within = within.max(apart);
                } else {
                    between = between.min(apart);
                }
            }
        }
        assert!(within < between, "{within} {between}");
    }

    #[test]
    fn what_has_no_spread_lies_in_the_middle() {
        assert_eq!(project(&[], 8).points, Vec::<[f32; 2]>::new());
        assert_eq!(project(&[1.0, 2.0], 2).points, vec![[0.0, 0.0]]);
        let same = project(&[0.6, 0.8, 0.6, 0.8, 0.6, 0.8], 2);
        assert_eq!(same.points, vec![[0.0, 0.0]; 3]);
        let line = project(&[1.0, 0.0, 2.0, 0.0, 3.0, 0.0], 2);
        assert!(line.points.iter().all(|[_, y]| *y == 0.0), "{line:?}");
        assert_eq!(line.points[0][0], -line.points[2][0]);
    }

    proptest! {
        #[test]
        fn every_vector_has_a_place_and_the_same_one_each_time(
            rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 6), 0..40)
        ) {
            let flat: Vec<f32> = rows.iter().flatten().copied().collect();
            let made = project(&flat, 6);
            prop_assert_eq!(made.points.len(), rows.len());
            prop_assert!((0.0..=1.0).contains(&made.shown));
            for value in made.points.iter().flatten() {
                prop_assert!(value.is_finite() && value.abs() <= 1.0);
            }
            prop_assert_eq!(&project(&flat, 6), &made);
        }
    }
}
