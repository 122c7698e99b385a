//! Which nodes of a syntax tree define something, in each language, and what the
//! definition is called.

use tree_sitter::Node;

use crate::language::Language;
use crate::symbol::SymbolKind;

/// What a node of this kind is to the map. Known by the kind alone, so that a
/// table of kinds is made once for each language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeClass {
    Other,
    /// May define something: [`definition`] says.
    Definition,
    Identifier,
    Comment,
    /// Text a person wrote into a string.
    Text,
    /// Stands between a comment and what it describes (`#[derive]`).
    Attribute,
    /// Wraps a definition, whose comment then stands before the wrapper.
    Wrapper,
}

pub(crate) fn classify(language: Language, kind: &str) -> NodeClass {
    if is_definition(language, kind) {
        return NodeClass::Definition;
    }
    match kind {
        "comment" | "line_comment" | "block_comment" => NodeClass::Comment,
        "string_content"
        | "string_fragment"
        | "interpreted_string_literal_content"
        | "raw_string_literal_content"
        | "multiline_string_fragment" => NodeClass::Text,
        "attribute_item" | "annotation" | "marker_annotation" | "decorator" => NodeClass::Attribute,
        "export_statement"
        | "lexical_declaration"
        | "variable_declaration"
        | "decorated_definition"
        | "type_declaration"
        | "const_declaration"
        | "var_declaration"
        | "template_declaration"
        | "ambient_declaration"
        | "expression_statement"
        | "linkage_specification" => NodeClass::Wrapper,
        "constant" | "word" | "identifier" => NodeClass::Identifier,
        kind if kind.ends_with("_identifier") && !kind.starts_with("qualified") => {
            NodeClass::Identifier
        }
        _ => NodeClass::Other,
    }
}

fn is_definition(language: Language, kind: &str) -> bool {
    let kinds: &[&str] = match language {
        Language::Rust => &[
            "function_item",
            "function_signature_item",
            "struct_item",
            "union_item",
            "enum_item",
            "trait_item",
            "impl_item",
            "mod_item",
            "type_item",
            "const_item",
            "static_item",
            "macro_definition",
        ],
        Language::Python => &["function_definition", "class_definition", "assignment"],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &[
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "method_definition",
            "interface_declaration",
            "type_alias_declaration",
            "enum_declaration",
            "internal_module",
            "module",
            "function_signature",
            "method_signature",
            "abstract_method_signature",
            "variable_declarator",
            "public_field_definition",
            "field_definition",
        ],
        Language::Go => &[
            "function_declaration",
            "method_declaration",
            "type_spec",
            "type_alias",
            "const_spec",
            "var_spec",
        ],
        Language::Java => &[
            "class_declaration",
            "interface_declaration",
            "enum_declaration",
            "record_declaration",
            "annotation_type_declaration",
            "method_declaration",
            "constructor_declaration",
        ],
        Language::C => &[
            "function_definition",
            "struct_specifier",
            "union_specifier",
            "enum_specifier",
            "type_definition",
            "preproc_function_def",
            "preproc_def",
        ],
        Language::Cpp => &[
            "function_definition",
            "struct_specifier",
            "union_specifier",
            "enum_specifier",
            "class_specifier",
            "namespace_definition",
            "type_definition",
            "alias_declaration",
            "concept_definition",
            "preproc_function_def",
            "preproc_def",
            "declaration",
            "field_declaration",
        ],
        Language::Ruby => &["method", "singleton_method", "class", "module"],
        Language::Bash => &["function_definition"],
    };
    kinds.contains(&kind)
}

/// What a node defines.
#[derive(Debug)]
pub(crate) struct Definition<'t> {
    /// `None`: it defines nothing itself, but what is in it belongs to `name`
    /// (a Rust `impl`).
    pub(crate) kind: Option<SymbolKind>,
    pub(crate) name: String,
    /// The node that spells the name.
    pub(crate) name_node: Node<'t>,
    /// What it belongs to beside where it stands: the receiver of a Go method.
    pub(crate) owner: Option<String>,
    pub(crate) body: Option<Node<'t>>,
}

/// Where a definition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Not inside a function.
    Outer,
    /// Inside a class, a trait, an `impl`.
    InType,
    /// Inside a function: variables there are nobody's beacon.
    InFunction,
}

/// What `node` defines, if anything.
pub(crate) fn definition<'t>(
    language: Language,
    node: Node<'t>,
    text: &str,
    scope: Scope,
) -> Option<Definition<'t>> {
    let named = |kind: SymbolKind| simple(node, text, kind);
    let callable = if scope == Scope::InType {
        SymbolKind::Method
    } else {
        SymbolKind::Function
    };
    match language {
        Language::Rust => match node.kind() {
            "function_item" | "function_signature_item" => named(callable),
            "struct_item" | "union_item" => named(SymbolKind::Struct),
            "enum_item" => named(SymbolKind::Enum),
            "trait_item" => named(SymbolKind::Trait),
            "type_item" => named(SymbolKind::Type),
            "macro_definition" => named(SymbolKind::Macro),
            "const_item" | "static_item" if scope != Scope::InFunction => {
                named(SymbolKind::Constant)
            }
            "mod_item" => named(SymbolKind::Module).filter(|found| found.body.is_some()),
            "impl_item" => {
                let of = node.child_by_field_name("type")?;
                Some(Definition {
                    kind: None,
                    name: bare_type(slice(of, text)).to_owned(),
                    name_node: of,
                    owner: None,
                    body: node.child_by_field_name("body"),
                })
            }
            _ => None,
        },
        Language::Python => match node.kind() {
            "function_definition" => named(callable),
            "class_definition" => named(SymbolKind::Class),
            _ => {
                let left = node.child_by_field_name("left")?;
                let is_constant = left.kind() == "identifier"
                    && scope == Scope::Outer
                    && is_shouted(slice(left, text));
                is_constant.then(|| with_name(node, left, text, SymbolKind::Constant))
            }
        },
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            javascript(node, text, scope)
        }
        Language::Go => go(node, text, scope),
        Language::Java => match node.kind() {
            "class_declaration" | "record_declaration" => named(SymbolKind::Class),
            "interface_declaration" | "annotation_type_declaration" => named(SymbolKind::Interface),
            "enum_declaration" => named(SymbolKind::Enum),
            _ => named(SymbolKind::Method),
        },
        Language::C | Language::Cpp => c_family(node, text, scope),
        Language::Ruby => match node.kind() {
            "class" => named(SymbolKind::Class),
            "module" => named(SymbolKind::Module),
            _ => named(callable),
        },
        Language::Bash => named(SymbolKind::Function),
    }
}

fn javascript<'t>(node: Node<'t>, text: &str, scope: Scope) -> Option<Definition<'t>> {
    let kind = match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            SymbolKind::Function
        }
        "class_declaration" | "abstract_class_declaration" => SymbolKind::Class,
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            SymbolKind::Method
        }
        "interface_declaration" => SymbolKind::Interface,
        "type_alias_declaration" => SymbolKind::Type,
        "enum_declaration" => SymbolKind::Enum,
        "internal_module" | "module" => SymbolKind::Module,
        _ => return javascript_value(node, text, scope),
    };
    simple(node, text, kind)
}

/// `const name = () => …`, and constants that are written like constants.
fn javascript_value<'t>(node: Node<'t>, text: &str, scope: Scope) -> Option<Definition<'t>> {
    let name = node
        .child_by_field_name("name")
        .or_else(|| node.child_by_field_name("property"))?;
    let value = node.child_by_field_name("value")?;
    let field = node.kind() != "variable_declarator";
    let kind = match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" if field => {
            SymbolKind::Method
        }
        "arrow_function" | "function_expression" | "generator_function" => SymbolKind::Function,
        "class" => SymbolKind::Class,
        _ if !field && scope == Scope::Outer && is_shouted(slice(name, text)) => {
            SymbolKind::Constant
        }
        _ => return None,
    };
    let is_name = matches!(
        name.kind(),
        "identifier" | "property_identifier" | "private_property_identifier"
    );
    is_name.then(|| Definition {
        kind: Some(kind),
        name: slice(name, text).to_owned(),
        name_node: name,
        owner: None,
        body: value.child_by_field_name("body"),
    })
}

fn go<'t>(node: Node<'t>, text: &str, scope: Scope) -> Option<Definition<'t>> {
    match node.kind() {
        "function_declaration" => simple(node, text, SymbolKind::Function),
        "method_declaration" => {
            let mut found = simple(node, text, SymbolKind::Method)?;
            let receiver = node.child_by_field_name("receiver");
            found.owner = receiver.map(|receiver| {
                let inner = slice(receiver, text).trim_matches(['(', ')']);
                let of = inner.split_whitespace().last().unwrap_or(inner);
                bare_type(of.trim_start_matches('*')).to_owned()
            });
            Some(found)
        }
        "type_spec" | "type_alias" => {
            let of = node.child_by_field_name("type");
            let kind = match of.map(|of| of.kind()) {
                Some("struct_type") => SymbolKind::Struct,
                Some("interface_type") => SymbolKind::Interface,
                _ => SymbolKind::Type,
            };
            let mut found = simple(node, text, kind)?;
            found.body = of.filter(|_| kind != SymbolKind::Type);
            Some(found)
        }
        _ if scope == Scope::Outer => simple(node, text, SymbolKind::Constant),
        _ => None,
    }
}

fn c_family<'t>(node: Node<'t>, text: &str, scope: Scope) -> Option<Definition<'t>> {
    let kind = match node.kind() {
        "function_definition" => {
            return declared(node, text, scope);
        }
        // Prototypes are where a header says what it has.
        "declaration" | "field_declaration" if scope != Scope::InFunction => {
            let declarator = node.child_by_field_name("declarator")?;
            return leads_to_function(declarator).then(|| declared(node, text, scope))?;
        }
        "struct_specifier" | "union_specifier" => SymbolKind::Struct,
        "class_specifier" => SymbolKind::Class,
        "enum_specifier" => SymbolKind::Enum,
        "namespace_definition" => SymbolKind::Module,
        "alias_declaration" => SymbolKind::Type,
        "concept_definition" => SymbolKind::Trait,
        "preproc_function_def" => SymbolKind::Macro,
        // One without a value guards a header.
        "preproc_def" => {
            node.child_by_field_name("value")?;
            SymbolKind::Constant
        }
        "type_definition" => {
            let name = innermost_name(node.child_by_field_name("declarator")?)?;
            return Some(with_name(node, name, text, SymbolKind::Type));
        }
        _ => return None,
    };
    let found = simple(node, text, kind)?;
    let needs_body = matches!(
        kind,
        SymbolKind::Struct | SymbolKind::Class | SymbolKind::Enum
    );
    (found.body.is_some() || !needs_body).then_some(found)
}

/// A function of C or C++: its name is at the end of a chain of declarators, and
/// may say what it belongs to (`Writer::flush`).
fn declared<'t>(node: Node<'t>, text: &str, scope: Scope) -> Option<Definition<'t>> {
    let name_node = innermost_name(node.child_by_field_name("declarator")?)?;
    let spelled = slice(name_node, text);
    let (owner, name) = match spelled.rsplit_once("::") {
        Some((owner, name)) => (Some(bare_type(owner).to_owned()), name),
        None => (None, spelled),
    };
    let kind = if owner.is_some() || scope == Scope::InType {
        SymbolKind::Method
    } else {
        SymbolKind::Function
    };
    Some(Definition {
        kind: Some(kind),
        name: name.trim().to_owned(),
        name_node,
        owner,
        body: node.child_by_field_name("body"),
    })
}

fn leads_to_function(mut node: Node<'_>) -> bool {
    loop {
        match node.kind() {
            "function_declarator" => {
                // `void (*callback)(int)` declares a variable.
                let inner = node.child_by_field_name("declarator");
                return inner.is_some_and(|inner| inner.kind() != "parenthesized_declarator");
            }
            "pointer_declarator" | "reference_declarator" => {
                let last = node.named_child_count().checked_sub(1);
                let inner = node
                    .child_by_field_name("declarator")
                    .or_else(|| node.named_child(last? as u32));
                match inner {
                    Some(inner) => node = inner,
                    None => return false,
                }
            }
            _ => return false,
        }
    }
}

fn innermost_name(mut node: Node<'_>) -> Option<Node<'_>> {
    loop {
        match node.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "operator_cast" => return Some(node),
            "template_function" => node = node.child_by_field_name("name")?,
            _ => {
                let inner = node.child_by_field_name("declarator");
                node = match inner {
                    Some(inner) => inner,
                    // References and parentheses have no field for it.
                    None => {
                        let last = node.named_child_count().checked_sub(1)?;
                        node.named_child(last as u32)?
                    }
                };
            }
        }
    }
}

fn simple<'t>(node: Node<'t>, text: &str, kind: SymbolKind) -> Option<Definition<'t>> {
    let name = node.child_by_field_name("name")?;
    Some(with_name(node, name, text, kind))
}

fn with_name<'t>(node: Node<'t>, name: Node<'t>, text: &str, kind: SymbolKind) -> Definition<'t> {
    Definition {
        kind: Some(kind),
        name: slice(name, text).to_owned(),
        name_node: name,
        owner: None,
        body: node.child_by_field_name("body"),
    }
}

pub(crate) fn slice<'s>(node: Node<'_>, text: &'s str) -> &'s str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// `&'a mut Store<T>` is about `Store`.
fn bare_type(text: &str) -> &str {
    let text = text.trim_start_matches(['&', '*', ' ']);
    let text = text.strip_prefix("dyn ").unwrap_or(text);
    text.split(['<', '[']).next().unwrap_or(text).trim()
}

fn is_shouted(name: &str) -> bool {
    name.len() > 1
        && name.bytes().any(|b| b.is_ascii_uppercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}
