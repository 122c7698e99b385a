//! One text to what it defines and refers to.
//!
//! The tree is walked once, without recursion, under a deadline: no text that
//! somebody could put into a repository takes longer or more stack than another
//! of its size.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::comment;
use crate::definition::{Definition, NodeClass, Scope, classify, definition, slice};
use crate::language::Language;
use crate::limits::Limits;
use crate::source::Skip;
use crate::symbol::{ContentHash, Span, Symbol, SymbolKind};
use crate::words::words;

/// Longer signatures are cut.
const LONGEST_SIGNATURE: usize = 300;
/// Distinct words of a body that are kept.
const WORDS_OF_A_BODY: usize = 96;
/// Longer identifiers are not written by people.
const LONGEST_IDENTIFIER: usize = 80;

/// Definitions inside more definitions than this are left out.
const DEEPEST: usize = 16;

/// What a text defines and refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The file itself first, then in the order they stand in it.
    pub symbols: Vec<Symbol>,
    /// Identifiers and how often each is used, by name.
    pub references: Vec<(String, u32)>,
    pub lines: u32,
}

/// Reads `text`, the content of the file at `path` below the root.
pub fn extract(
    path: &str,
    text: &str,
    language: Language,
    limits: &Limits,
) -> Result<Extracted, Skip> {
    let deadline = Instant::now() + limits.parse_time;
    let tree = parse(text, language, deadline).ok_or(Skip::TooSlow)?;
    let mut walk = Walk {
        text,
        language,
        limits,
        symbols: vec![file_symbol(path, text, language)],
        words: vec![Words::default()],
        references: HashMap::new(),
        open: Vec::new(),
        outer: Vec::new(),
        comment: None,
    };
    walk.whole(&tree, deadline).ok_or(Skip::TooSlow)?;
    Ok(walk.finish())
}

fn parse(text: &str, language: Language, deadline: Instant) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar().into()).ok()?;
    let bytes = text.as_bytes();
    let mut in_time = |_: &tree_sitter::ParseState| {
        if Instant::now() < deadline {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

/// What each kind of node is, by its number in the grammar.
fn classes(language: Language) -> &'static [NodeClass] {
    static TABLES: OnceLock<Vec<Vec<NodeClass>>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let table = |language: &Language| {
            let grammar = tree_sitter::Language::from(language.grammar());
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            (0..count)
                .map(|id| match grammar.node_kind_for_id(id) {
                    Some(kind) if grammar.node_kind_is_named(id) => classify(*language, kind),
                    _ => NodeClass::Other,
                })
                .collect()
        };
        Language::ALL.iter().map(table).collect()
    });
    &tables[language as usize]
}

fn file_symbol(path: &str, text: &str, language: Language) -> Symbol {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or(path);
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    // These stand for their folder.
    let name = match stem {
        "mod" | "lib" | "main" | "index" | "__init__" => {
            parts.find(|part| *part != "src").unwrap_or(stem)
        }
        stem => stem,
    };
    let hash = ContentHash::of_code(&[text]);
    Symbol {
        kind: SymbolKind::Module,
        name: name.to_owned(),
        container: String::new(),
        signature: path.to_owned(),
        doc: comment::of_file(language, text),
        words: String::new(),
        span: Span {
            first_line: 1,
            last_line: u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX),
            start: 0,
            end: u32::try_from(text.len()).unwrap_or(u32::MAX),
        },
        hash,
        nameless: hash,
    }
}

/// Distinct words in the order they came.
#[derive(Debug, Default)]
struct Words {
    text: String,
    seen: std::collections::HashSet<String>,
}

impl Words {
    fn add(&mut self, text: &str) {
        if self.seen.len() >= WORDS_OF_A_BODY {
            return;
        }
        words(text, |word| {
            if self.seen.len() < WORDS_OF_A_BODY && self.seen.insert(word.to_owned()) {
                if !self.text.is_empty() {
                    self.text.push(' ');
                }
                self.text.push_str(word);
            }
        });
    }
}

/// A definition the walk is inside of.
#[derive(Debug)]
struct Open {
    depth: usize,
    name: String,
    kind: Option<SymbolKind>,
    /// Its place among the symbols; none for an `impl`.
    symbol: Option<usize>,
}

/// Comment lines that may belong to what follows them.
#[derive(Debug, Clone, Copy)]
struct Pending {
    start: usize,
    end: usize,
    last_row: usize,
}

struct Walk<'s> {
    text: &'s str,
    language: Language,
    limits: &'s Limits,
    symbols: Vec<Symbol>,
    /// The words of each symbol.
    words: Vec<Words>,
    references: HashMap<&'s str, u32>,
    open: Vec<Open>,
    /// The start row of each node the walk is inside of, and whether it wraps.
    outer: Vec<(usize, usize, NodeClass)>,
    comment: Option<Pending>,
}

impl<'s> Walk<'s> {
    /// `None` when the time ran out.
    fn whole(&mut self, tree: &Tree, deadline: Instant) -> Option<()> {
        let classes = classes(self.language);
        let mut cursor = tree.walk();
        let mut count = 0_u32;
        loop {
            count += 1;
            if count.is_multiple_of(4096) && Instant::now() >= deadline {
                return None;
            }
            let node = cursor.node();
            let class = classes
                .get(usize::from(node.kind_id()))
                .copied()
                .unwrap_or(NodeClass::Other);
            self.enter(node, class);
            // Comments and strings have children in some grammars; what they
            // say was taken as a whole.
            let whole = matches!(class, NodeClass::Comment | NodeClass::Text);
            if !whole && cursor.goto_first_child() {
                self.outer
                    .push((node.start_position().row, node.start_byte(), class));
                continue;
            }
            loop {
                self.leave();
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return Some(());
                }
                self.outer.pop();
            }
        }
    }

    fn enter(&mut self, node: Node<'_>, class: NodeClass) {
        match class {
            NodeClass::Definition => {
                if let Some(found) = definition(self.language, node, self.text, self.scope()) {
                    self.define(node, found);
                }
            }
            NodeClass::Identifier => self.add_reference(node),
            NodeClass::Comment => {
                self.add_comment(node);
                if self.describes_its_inside() {
                    self.add_words(slice(node, self.text));
                }
            }
            NodeClass::Text => self.add_words(slice(node, self.text)),
            NodeClass::Attribute => {
                if let Some(comment) = &mut self.comment
                    && comment.last_row + 1 >= node.start_position().row
                {
                    comment.last_row = last_row(node);
                }
            }
            NodeClass::Wrapper | NodeClass::Other => {}
        }
    }

    fn leave(&mut self) {
        if self
            .open
            .last()
            .is_some_and(|open| open.depth == self.outer.len())
        {
            self.open.pop();
        }
    }

    fn scope(&self) -> Scope {
        match self.open.last().map(|open| open.kind) {
            None | Some(Some(SymbolKind::Module)) => Scope::Outer,
            Some(Some(SymbolKind::Function | SymbolKind::Method)) => Scope::InFunction,
            Some(_) => Scope::InType,
        }
    }

    /// Comments inside a class are about its methods, which have them as their
    /// own; those inside a function or a struct are about it.
    fn describes_its_inside(&self) -> bool {
        use SymbolKind::{Constant, Enum, Function, Macro, Method, Struct, Type};
        self.open.last().is_some_and(|open| {
            matches!(
                open.kind,
                Some(Function | Method | Struct | Enum | Constant | Type | Macro)
            )
        })
    }

    fn add_comment(&mut self, node: Node<'_>) {
        let row = node.start_position().row;
        let before = &self.text[..node.start_byte()];
        let line = before.rsplit('\n').next().unwrap_or_default();
        if !line.trim().is_empty() {
            self.comment = None;
            return;
        }
        match &mut self.comment {
            Some(comment) if comment.last_row + 1 >= row => {
                comment.end = node.end_byte();
                comment.last_row = last_row(node);
            }
            _ => {
                self.comment = Some(Pending {
                    start: node.start_byte(),
                    end: node.end_byte(),
                    last_row: last_row(node),
                });
            }
        }
    }

    fn add_reference(&mut self, node: Node<'_>) {
        let name = slice(node, self.text);
        if name.len() < 2 || name.len() > LONGEST_IDENTIFIER {
            return;
        }
        *self.references.entry(name).or_insert(0) += 1;
        self.add_words(name);
    }

    fn add_words(&mut self, text: &str) {
        let innermost = self.open.iter().rev().find_map(|open| open.symbol);
        if let Some(symbol) = innermost {
            self.words[symbol].add(text);
        }
    }

    fn define(&mut self, node: Node<'_>, found: Definition<'_>) {
        let wrapper = self
            .outer
            .iter()
            .rev()
            .take_while(|(_, _, class)| *class == NodeClass::Wrapper)
            .last();
        let (row, start) = wrapper.map_or((node.start_position().row, node.start_byte()), |w| {
            (w.0, w.1)
        });
        let depth = self.outer.len();
        let mut symbol = None;
        if let Some(kind) = found.kind
            && self.symbols.len() < self.limits.symbols_per_file
            && self.open.len() < DEEPEST
            && !found.name.is_empty()
            && found.name.len() <= LONGEST_IDENTIFIER
        {
            let doc = self.doc_before(row).or_else(|| self.doc_string(&found));
            let container = self.container(found.owner.as_deref());
            // Several constants of one `const (…)` start where each stands.
            let (row, start) = match kind {
                SymbolKind::Constant | SymbolKind::Type => {
                    (node.start_position().row, node.start_byte())
                }
                _ => (row, start),
            };
            symbol = Some(self.symbols.len());
            let mut new = self.symbol(node, start, kind, &found);
            new.span.first_line = u32::try_from(row + 1).unwrap_or(u32::MAX);
            new.container = container;
            new.doc = doc.unwrap_or_default();
            self.symbols.push(new);
            self.words.push(Words::default());
        }
        self.comment = None;
        self.open.push(Open {
            depth,
            name: found.name,
            kind: found.kind,
            symbol,
        });
    }

    fn symbol(
        &self,
        node: Node<'_>,
        start: usize,
        kind: SymbolKind,
        found: &Definition<'_>,
    ) -> Symbol {
        let end = node.end_byte();
        let name = found.name_node.byte_range();
        let part = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let mut head_end = found.body.map_or(end, |body| body.start_byte());
        // Here comments may stand between the head and the body.
        if self.language == Language::Ruby
            && let Some(line) = part(start, head_end).find('\n')
        {
            head_end = start + line;
        }
        let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
        Symbol {
            kind,
            name: found.name.clone(),
            container: String::new(),
            signature: shortened_signature(part(start, head_end)),
            doc: String::new(),
            words: String::new(),
            span: Span {
                first_line: line(node.start_position().row),
                last_line: line(last_row(node)),
                start: u32::try_from(start).unwrap_or(u32::MAX),
                end: u32::try_from(end).unwrap_or(u32::MAX),
            },
            hash: ContentHash::of_code(&[part(start, end)]),
            nameless: ContentHash::of_code(&[part(start, name.start), part(name.end, end)]),
        }
    }

    fn container(&self, owner: Option<&str>) -> String {
        let separator = self.language.separator();
        let mut names: Vec<&str> = self.open.iter().map(|open| open.name.as_str()).collect();
        names.extend(owner);
        names.join(separator)
    }

    fn doc_before(&self, row: usize) -> Option<String> {
        let comment = self.comment?;
        let adjacent = comment.last_row + 1 >= row && comment.last_row <= row;
        adjacent.then(|| comment::plain(&self.text[comment.start..comment.end]))
    }

    /// Python's: the first statement of the body.
    fn doc_string(&self, found: &Definition<'_>) -> Option<String> {
        if self.language != Language::Python {
            return None;
        }
        let first = found.body?.named_child(0)?;
        let string = match first.kind() {
            "expression_statement" => first.named_child(0)?,
            _ => first,
        };
        (string.kind() == "string").then(|| comment::plain(slice(string, self.text)))
    }

    fn finish(mut self) -> Extracted {
        // A file is about what it defines.
        let (file, defined) = self.symbols.split_at(1);
        debug_assert_eq!(file.len(), 1);
        for symbol in defined.iter().filter(|symbol| symbol.container.is_empty()) {
            self.words[0].add(&symbol.name);
        }
        for (symbol, words) in self.symbols.iter_mut().zip(self.words) {
            symbol.words = words.text;
        }
        let mut references: Vec<_> = self.references.into_iter().collect();
        if references.len() > self.limits.references_per_file {
            references.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
            references.truncate(self.limits.references_per_file);
        }
        let mut references: Vec<_> = references
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        references.sort_unstable();
        Extracted {
            lines: self.symbols[0].span.last_line,
            symbols: self.symbols,
            references,
        }
    }
}

/// The last row a node has text on; some end with their line's break.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row {
        end.row - 1
    } else {
        end.row
    }
}

fn shortened_signature(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() >= LONGEST_SIGNATURE {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line.trim_end_matches(['{', ' ', '=']).to_owned()
}

#[cfg(test)]
mod tests;
