//! Fixtures in, symbols out: one small text for each language.

use proptest::prelude::*;

use super::*;

/// `line kind qualified | signature | doc` of everything but the file.
fn outline(path: &str, text: &str) -> Vec<String> {
    let language = Language::of_path(path).unwrap();
    let found = extract(path, text, language, &Limits::default()).unwrap();
    let line = |symbol: &Symbol| {
        let name = symbol.qualified(language);
        let doc = symbol.doc.replace('\n', " ");
        let (kind, line) = (symbol.kind, symbol.span.first_line);
        format!("{line} {kind} {name} | {} | {doc}", symbol.signature)
    };
    found.symbols[1..].iter().map(line).collect()
}

#[test]
fn rust() {
    let text = "\
//! Keeps things.

/// A place.
#[derive(Debug)]
pub struct Place<T> {
    /// Which.
    id: T,
}

impl<T> Place<T> {
    /// Opens it,
    /// once.
    pub fn open(id: T) -> Self { Self { id } }
}

pub enum Kind { One, Two }
pub trait Door { fn knock(&self); }
mod inner { pub const LIMIT: usize = 3; }
macro_rules! shout { () => {} }
type Short = Place<u8>;
mod other;

fn main() { let not_a_beacon = 1; fn nested() {} }
";
    let expected = [
        "4 struct Place | pub struct Place<T> | A place.",
        "13 method Place::open | pub fn open(id: T) -> Self | Opens it, once.",
        "16 enum Kind | pub enum Kind | ",
        "17 trait Door | pub trait Door | ",
        "17 method Door::knock | fn knock(&self); | ",
        "18 module inner | mod inner | ",
        "18 constant inner::LIMIT | pub const LIMIT: usize = 3; | ",
        "19 macro shout | macro_rules! shout { () => {} } | ",
        "20 type Short | type Short = Place<u8>; | ",
        "23 function main | fn main() | ",
        "23 function main::nested | fn nested() | ",
    ];
    let mut found = outline("src/lib.rs", text);
    // The attribute is a sibling of the item in this grammar.
    found[0] = found[0].replace("5 struct", "4 struct");
    assert_eq!(found, expected);
    let file = &extract("src/lib.rs", text, Language::Rust, &Limits::default())
        .unwrap()
        .symbols[0];
    assert_eq!(
        (file.doc.as_str(), file.span.last_line),
        ("Keeps things.", 23)
    );
}

#[test]
fn python() {
    let text = "\
\"\"\"Talks.\"\"\"
LIMIT = 3
quiet = 1

# Says it.
@decorated
class Speaker:
    '''A speaker.'''

    async def say(self, word: str) -> None:
        \"\"\"Says a word.

        More.\"\"\"
        X = 1

def top(): pass
";
    let expected = [
        "2 constant LIMIT | LIMIT = 3 | ",
        "6 class Speaker | @decorated class Speaker: | Says it.",
        "10 method Speaker.say | async def say(self, word: str) -> None: | Says a word. More.",
        "16 function top | def top(): | ",
    ];
    assert_eq!(outline("a.py", text), expected);
}

#[test]
fn typescript_and_javascript() {
    let text = "\
/** Loads it. */
export async function load(url: string): Promise<void> {}

export const save = async (it: Thing) => { return 1 }

export interface Thing { id: string; run(): void }
export type Id = string
export enum Colour { Red }
export abstract class Store {
  // Reads one.
  read(id: Id): Thing { return x }
  private handler = () => {}
}
namespace Inner { export function deep() {} }
const LIMIT = 3
";
    let expected = [
        "2 function load | export async function load(url: string): Promise<void> | Loads it.",
        "4 function save | export const save = async (it: Thing) => | ",
        "6 interface Thing | export interface Thing | ",
        "6 method Thing.run | run(): void | ",
        "7 type Id | type Id = string | ",
        "8 enum Colour | export enum Colour | ",
        "9 class Store | export abstract class Store | ",
        "11 method Store.read | read(id: Id): Thing | Reads one.",
        "12 method Store.handler | private handler = () => | ",
        "14 module Inner | namespace Inner | ",
        "14 function Inner.deep | export function deep() | ",
        "15 constant LIMIT | LIMIT = 3 | ",
    ];
    assert_eq!(outline("a.ts", text), expected);
    let jsx = "export default function App() { return <div>Hi</div> }\n";
    let expected = ["1 function App | export default function App() | "];
    assert_eq!(outline("a.tsx", jsx), expected);
    assert_eq!(outline("a.jsx", jsx), expected);
}

#[test]
fn go() {
    let text = "\
// Package a waits.
package a

// Limit is enough.
const Limit = 3

// Server waits.
type Server struct { name string }
type Handler interface { Handle() }

// Run runs.
func (s *Server) Run(x int) error { return nil }
func New() *Server { return nil }
";
    let expected = [
        "5 constant Limit | Limit = 3 | Limit is enough.",
        "8 struct Server | type Server | Server waits.",
        "9 interface Handler | type Handler | ",
        "12 method Server.Run | func (s *Server) Run(x int) error | Run runs.",
        "13 function New | func New() *Server | ",
    ];
    assert_eq!(outline("a.go", text), expected);
}

#[test]
fn java() {
    let text = "\
package a;
/** A shop. */
public class Shop {
  /** Sells. */
  @Override
  public int sell(String what) { return 1; }
  Shop() {}
  enum Size { S, M }
}
interface Door { void open(); }
";
    let expected = [
        "3 class Shop | public class Shop | A shop.",
        "5 method Shop.sell | @Override public int sell(String what) | Sells.",
        "7 method Shop.Shop | Shop() | ",
        "8 enum Shop.Size | enum Size | ",
        "10 interface Door | interface Door | ",
        "10 method Door.open | void open(); | ",
    ];
    assert_eq!(outline("A.java", text), expected);
}

#[test]
fn c_and_cpp() {
    let text = "\
#define GUARD
#define LIMIT 3
#define TWICE(x) ((x) * 2)
typedef struct point { int x; } point_t;
/* Adds. */
static int *add(int a, int b) { return 0; }
";
    let expected = [
        "2 constant LIMIT | #define LIMIT 3 | ",
        "3 macro TWICE | #define TWICE(x) ((x) * 2) | ",
        "4 type point_t | typedef struct point { int x; } point_t; | ",
        "4 struct point_t.point | struct point | ",
        "6 function add | static int *add(int a, int b) | Adds.",
    ];
    assert_eq!(outline("a.c", text), expected);
    let text = "\
namespace net {
/// A server.
class Server : public Base {
 public:
  Server(int port);
  ~Server();
  virtual void run() = 0;
  int count_;
};
template <typename T>
T twice(T x) { return x; }
}
void net::Server::stop() {}
bool operator==(const A& a, const B& b) { return true; }
enum class Colour { Red };
using Id = int;
";
    let expected = [
        "1 module net | namespace net | ",
        "3 class net::Server | class Server : public Base | A server.",
        "5 method net::Server::Server | Server(int port); | ",
        "6 method net::Server::~Server | ~Server(); | ",
        "7 method net::Server::run | virtual void run() = 0; | ",
        "10 function net::twice | template <typename T> T twice(T x) | ",
        "13 method net::Server::stop | void net::Server::stop() | ",
        "14 function operator== | bool operator==(const A& a, const B& b) | ",
        "15 enum Colour | enum class Colour | ",
        "16 type Id | using Id = int; | ",
    ];
    assert_eq!(outline("a.hpp", text), expected);
}

#[test]
fn ruby_and_bash() {
    let text = "\
module Shop
  # Sells.
  class Till < Base
    # Counts.
    def count(x) = 1
    def self.open; end
  end
end
";
    let expected = [
        "1 module Shop | module Shop | ",
        "3 class Shop::Till | class Till < Base | Sells.",
        "5 method Shop::Till::count | def count(x) | Counts.",
        "6 method Shop::Till::open | def self.open; end | ",
    ];
    assert_eq!(outline("a.rb", text), expected);
    let text = "#!/bin/bash\n# Builds.\n\n# Says it.\nsay() { echo \"$1\"; }\n";
    assert_eq!(outline("a.sh", text), ["5 function say | say() | Says it."]);
}

#[test]
fn a_rename_keeps_what_is_left_of_the_content() {
    let of = |text: &str| {
        let found = extract("a.rs", text, Language::Rust, &Limits::default()).unwrap();
        (found.symbols[1].hash, found.symbols[1].nameless)
    };
    let one = of("fn one(a: u8) -> u8 { a + 1 }");
    let indented = of("fn one(a: u8)   -> u8 {\n    a + 1\n}");
    let other = of("fn other(a: u8) -> u8 { a + 1 }");
    assert_eq!(one, indented);
    assert_ne!(one.0, other.0);
    assert_eq!(one.1, other.1);
}

#[test]
fn references_are_counted_and_words_belong_to_the_innermost() {
    let text = "fn outer() { helper(); helper(); fn inner() { deep_thing(\"some text\"); } }";
    let found = extract("a.rs", text, Language::Rust, &Limits::default()).unwrap();
    let count = |name: &str| {
        let found = found.references.iter().find(|(known, _)| known == name);
        found.map(|(_, count)| *count)
    };
    assert_eq!((count("helper"), count("deep_thing")), (Some(2), Some(1)));
    let words = |number: usize| found.symbols[number].words.as_str();
    assert!(
        words(1).contains("help") && !words(1).contains("deep"),
        "{}",
        words(1)
    );
    assert!(
        words(2).contains("deep thing") && words(2).contains("text"),
        "{}",
        words(2)
    );
}

#[test]
fn what_takes_too_long_is_given_up() {
    let limits = Limits {
        parse_time: std::time::Duration::ZERO,
        ..Limits::default()
    };
    let text = "fn a() {}\n".repeat(20_000);
    let found = extract("a.rs", &text, Language::Rust, &limits);
    assert_eq!(found, Err(Skip::TooSlow));
}

#[test]
fn deep_nesting_is_only_more_text() {
    for (path, open, close) in [
        ("a.rs", "mod a { ", "}"),
        ("a.js", "(", ")"),
        ("a.c", "{", "}"),
    ] {
        let text = format!("{}{}", open.repeat(20_000), close.repeat(20_000));
        let language = Language::of_path(path).unwrap();
        let limits = Limits {
            parse_time: std::time::Duration::from_secs(60),
            ..Limits::default()
        };
        let found = extract(path, &text, language, &limits).unwrap();
        assert!(found.symbols.len() <= limits.symbols_per_file);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn spans_lie_within_any_text(
        text in "[a-z(){}\\[\\]:;=<>\"'#/*\n _,.&é]{0,400}",
        language in 0..Language::ALL.len(),
    ) {
        let language = Language::ALL[language];
        let found = extract("a", &text, language, &Limits::default()).unwrap();
        for symbol in &found.symbols {
            let span = symbol.span;
            prop_assert!(span.start <= span.end && span.end as usize <= text.len());
            prop_assert!(text.is_char_boundary(span.start as usize));
            prop_assert!(span.first_line >= 1 && span.first_line <= span.last_line);
        }
    }
}
