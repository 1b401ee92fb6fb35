//! Kinds of nodes of the grammar, by their role in the walk.

/// Nodes that only contain others.
#[rustfmt::skip]
pub(super) const STRUCTURE: &[&str] = &[
    "program", "list", "pipeline", "redirected_statement", "subshell", "compound_statement",
    "if_statement", "elif_clause", "else_clause", "while_statement", "for_statement",
    "c_style_for_statement", "case_statement", "case_item", "do_group", "negated_command",
    "test_command", "command_name", "concatenation", "string", "string_content", "raw_string",
    "ansi_c_string", "translated_string", "word", "number", "simple_expansion", "expansion",
    "command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression",
    "array", "subscript", "variable_name", "special_variable_name", "file_descriptor", "comment",
    "heredoc_start", "heredoc_end", "heredoc_body", "heredoc_content", "test_operator",
    "binary_expression", "unary_expression", "ternary_expression", "postfix_expression",
    "parenthesized_expression", "regex", "extglob_pattern", "file_redirect", "herestring_redirect",
    "heredoc_redirect",
];

/// Nodes that are words or end in one. To the shell, two of them without space between are one.
#[rustfmt::skip]
pub(super) const WORDS: &[&str] = &[
    "word", "string", "raw_string", "ansi_c_string", "number", "concatenation", "command_name",
    "simple_expansion", "expansion", "command_substitution", "process_substitution",
    "arithmetic_expansion", "brace_expression", "extglob_pattern", "variable_assignment",
    "command",
];

/// Nodes whose parts are on one line.
#[rustfmt::skip]
pub(super) const LINES: &[&str] = &[
    "command", "command_name", "concatenation", "file_redirect", "herestring_redirect",
    "declaration_command", "unset_command", "redirected_statement", "variable_assignments",
    "variable_assignment",
];

/// Nodes whose parts may touch.
#[rustfmt::skip]
pub(super) const WHOLES: &[&str] = &[
    "concatenation", "string", "expansion", "heredoc_body", "arithmetic_expansion", "test_command",
    "binary_expression", "unary_expression", "regex", "subscript", "brace_expression",
    "parenthesized_expression", "ternary_expression", "postfix_expression", "case_item",
];

/// Words that begin a construct. As the name of a command, such a word means that the grammar and
/// the shell read the script differently.
#[rustfmt::skip]
pub(super) const RESERVED: &[&str] = &[
    "coproc", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until",
    "for", "select", "function", "in", "{", "}", "[[", "]]", "!",
];
