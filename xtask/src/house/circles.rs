//! Circles: sets of files each of which leads to every other by imports, so that
//! none can be understood before the others (strongly connected components).

use std::collections::BTreeSet;

/// The largest circle, or nothing where files can be read one after the other.
pub(crate) fn largest(imports: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut search = Search {
        imports,
        order: vec![None; imports.len()],
        low: vec![0; imports.len()],
        open: Vec::new(),
        is_open: vec![false; imports.len()],
        visited: 0,
        largest: Vec::new(),
    };
    for file in 0..imports.len() {
        if search.order[file].is_none() {
            search.visit(file);
        }
    }
    search.largest.sort_unstable();
    search.largest
}

/// Tarjan's algorithm. Its depth is the longest chain of imports in one crate.
struct Search<'a> {
    imports: &'a [BTreeSet<usize>],
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    visited: usize,
    largest: Vec<usize>,
}

impl Search<'_> {
    fn visit(&mut self, file: usize) {
        let number = self.visited;
        self.visited += 1;
        self.order[file] = Some(number);
        self.low[file] = number;
        self.open.push(file);
        self.is_open[file] = true;
        for &next in &self.imports[file] {
            match self.order[next] {
                None => {
                    self.visit(next);
                    self.low[file] = self.low[file].min(self.low[next]);
                }
                Some(seen) if self.is_open[next] => self.low[file] = self.low[file].min(seen),
                Some(_) => {}
            }
        }
        if self.low[file] == number {
            let mut circle = Vec::new();
            while let Some(member) = self.open.pop() {
                self.is_open[member] = false;
                circle.push(member);
                if member == file {
                    break;
                }
            }
            if circle.len() > 1 && circle.len() > self.largest.len() {
                self.largest = circle;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize)], size: usize) -> Vec<BTreeSet<usize>> {
        let mut imports = vec![BTreeSet::new(); size];
        for (from, to) in edges {
            imports[*from].insert(*to);
        }
        imports
    }

    #[test]
    fn the_largest_circle_is_found_and_a_chain_is_none() {
        assert_eq!(
            largest(&graph(&[(0, 1), (1, 2), (0, 2)], 3)),
            Vec::<usize>::new()
        );
        let two_circles = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (4, 5)];
        assert_eq!(largest(&graph(&two_circles, 6)), vec![2, 3, 4]);
    }
}
