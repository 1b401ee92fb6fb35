//! The index: ranks tools for a query by BM25, and leaves out what does not fit.

mod document;
mod words;

use std::collections::{BTreeSet, HashMap};

use crate::extension::CallableTool;
use document::Document;
use words::terms;

/// Saturation of repeated terms, and influence of the length of a document.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Part of the best result's score and of its matched rarity that another result must reach.
const SCORE_FLOOR: f64 = 0.2;
const COVERAGE_FLOOR: f64 = 0.5;

/// Names that are suggested if nothing fits.
const NEAREST: usize = 5;

/// A search index of tools.
#[derive(Debug, Default)]
pub struct ToolIndex {
    tools: Vec<Indexed>,
    /// Tools in which a term occurs, with the weight of the term.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// Tools by full and local name in lower case.
    names: HashMap<String, Vec<usize>>,
    average_length: f64,
}

#[derive(Debug)]
struct Indexed {
    name: String,
    name_terms: Vec<String>,
    length: f64,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Names of the tools that fit, best first.
    pub tools: Vec<String>,
    /// If none fits: names of tools that share something with the query, best first.
    pub nearest: Vec<String>,
}

/// The match of a tool.
#[derive(Debug, Clone, Copy, Default)]
struct Match {
    score: f64,
    /// Number of terms that occur.
    covered: usize,
    /// Sum of the rarity of these terms.
    rarity: f64,
    /// A term occurs in the name.
    in_name: bool,
}

impl ToolIndex {
    /// Builds the index of tools.
    pub fn new(callable: &[CallableTool]) -> Self {
        let mut index = Self::default();
        for (at, callable) in callable.iter().enumerate() {
            let document = Document::of(callable);
            let mut weights: HashMap<String, f64> = HashMap::new();
            for (term, weight) in document.terms {
                *weights.entry(term).or_default() += weight;
            }
            let length: f64 = weights.values().sum();
            for (term, weight) in weights {
                index.postings.entry(term).or_default().push((at, weight));
            }
            let full = callable.name().to_lowercase();
            let local = document.local_name.to_lowercase();
            for name in BTreeSet::from([full, local]) {
                index.names.entry(name).or_default().push(at);
            }
            let name = callable.name().to_owned();
            index.tools.push(Indexed { name, name_terms: document.name_terms, length });
            index.average_length += length;
        }
        // The numbers of tools stay far below 2^52.
        index.average_length /= index.tools.len().max(1) as f64;
        index
    }

    /// Returns the tools that fit a query best, at most `limit` of those that `admits` names.
    pub fn search(&self, query: &str, limit: usize, admits: impl Fn(&str) -> bool) -> Found {
        let named = self.named(query, &admits);
        // A query that only consists of names asks for these tools and no others.
        if !named.is_empty() && self.is_list_of_names(query) {
            let tools = named.iter().take(limit).map(|at| self.tools[*at].name.clone());
            return Found { tools: tools.collect(), nearest: Vec::new() };
        }
        let query_terms: BTreeSet<String> = terms(query).into_iter().collect();
        let known = query_terms.iter().filter(|term| self.postings.contains_key(*term)).count();
        let matches = self.matches(&query_terms, &admits);
        let mut ranked: Vec<(usize, Match)> = matches.into_iter().collect();
        ranked.sort_by(|(a_at, a), (b_at, b)| {
            let is_named = |at| named.contains(&at);
            let order = is_named(*b_at).cmp(&is_named(*a_at));
            let order = order.then(b.covered.cmp(&a.covered));
            let order = order.then(b.score.total_cmp(&a.score));
            order.then_with(|| self.tools[*a_at].name.cmp(&self.tools[*b_at].name))
        });
        let best =
            |of: fn(&Match) -> f64| ranked.iter().map(|(_, one)| of(one)).fold(0.0, f64::max);
        let (score, rarity) = (best(|one| one.score), best(|one| one.rarity));
        let fits = |(at, one): &(usize, Match)| {
            let is_relevant = one.in_name || one.covered > 1 || 2 * known > query_terms.len();
            let is_near_best =
                one.score >= SCORE_FLOOR * score && one.rarity >= COVERAGE_FLOOR * rarity;
            named.contains(at) || is_relevant && is_near_best
        };
        let name = |(at, _): &(usize, Match)| self.tools[*at].name.clone();
        let tools: Vec<String> =
            ranked.iter().filter(|one| fits(one)).take(limit).map(name).collect();
        let nearest = match tools.is_empty() {
            true => ranked.iter().take(NEAREST).map(name).collect(),
            false => Vec::new(),
        };
        Found { tools, nearest }
    }

    /// Returns the tools whose full or local name is a word of the query, or all of it.
    fn named(&self, query: &str, admits: impl Fn(&str) -> bool) -> Vec<usize> {
        let query = query.trim().to_lowercase();
        let words = std::iter::once(query.as_str()).chain(names_in(&query));
        let found = words.filter_map(|word| self.names.get(word)).flatten().copied();
        let mut seen = BTreeSet::new();
        found.filter(|at| admits(&self.tools[*at].name) && seen.insert(*at)).collect()
    }

    /// Returns true if all words of a query are names of tools, and not also ordinary words.
    fn is_list_of_names(&self, query: &str) -> bool {
        let query = query.to_lowercase();
        names_in(&query).all(|word| self.names.contains_key(word) && word.contains(['_', '-']))
    }

    fn matches(
        &self,
        query: &BTreeSet<String>,
        admits: impl Fn(&str) -> bool,
    ) -> HashMap<usize, Match> {
        let mut matches: HashMap<usize, Match> = HashMap::new();
        for term in query {
            let Some(postings) = self.postings.get(term) else { continue };
            let rarity = self.rarity(postings.len());
            for (at, weight) in postings {
                let tool = &self.tools[*at];
                if !admits(&tool.name) {
                    continue;
                }
                let length = 1.0 - B + B * tool.length / self.average_length;
                let one = matches.entry(*at).or_default();
                one.score += rarity * weight * (K1 + 1.0) / (weight + K1 * length);
                one.covered += 1;
                one.rarity += rarity;
                one.in_name |= tool.name_terms.contains(term);
            }
        }
        // The whole name within a query says more than its words.
        for (at, one) in &mut matches {
            let names = &self.tools[*at].name_terms;
            if !names.is_empty() && names.iter().all(|term| query.contains(term)) {
                let rarities = names.iter().filter_map(|term| self.postings.get(term));
                one.score += rarities.map(|postings| self.rarity(postings.len())).sum::<f64>();
            }
        }
        matches
    }

    /// Returns how much a term says that occurs in this many tools.
    fn rarity(&self, tools: usize) -> f64 {
        let (all, tools) = (self.tools.len() as f64, tools as f64);
        (1.0 + (all - tools + 0.5) / (tools + 0.5)).ln()
    }
}

/// Returns the words of a query that may be names.
fn names_in(query: &str) -> impl Iterator<Item = &str> {
    query.split_whitespace().map(|word| word.trim_matches([',', ';', '`', '"', '\'']))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pi_agent::{FnTool, Invocation, ToolOutput};
    use pi_protocol::Tool;
    use serde_json::json;

    use super::*;
    use crate::extension::{Exposure, ToolRegistration};

    fn tool(server: &str, name: &str, description: &str, fields: &[&str]) -> CallableTool {
        let properties: serde_json::Map<_, _> =
            fields.iter().map(|field| ((*field).to_owned(), json!({ "type": "string" }))).collect();
        let parameters = json!({ "type": "object", "properties": properties });
        let name = format!("mcp__{server}__{name}");
        let tool = FnTool::new(Tool::new(name, description, parameters), |_: Invocation| async {
            Ok(ToolOutput::text(""))
        });
        let registration = ToolRegistration::new(Arc::new(tool))
            .exposure(Exposure::Deferred)
            .namespace(format!("mcp__{server}"));
        CallableTool::new(Arc::clone(&registration.tool), Some(&registration))
    }

    fn tools() -> Vec<CallableTool> {
        vec![
            tool("all", "echo", "Echoes back the input string", &["message"]),
            tool("all", "get_annotated_message", "Shows annotations of content", &["messageType"]),
            tool("all", "get_env", "Returns all environment variables", &[]),
            tool("all", "get_sum", "Returns the sum of two numbers", &["a", "b"]),
            tool("fs", "read_text_file", "Reads a file as text", &["path", "head", "tail"]),
            tool("fs", "read_multiple_files", "Reads several files at once", &["paths"]),
            tool("fs", "write_file", "Creates or overwrites a file", &["path", "content"]),
            tool("fs", "list_directory", "Lists the entries of a directory", &["path"]),
            tool("web", "get_forecast", "Weather of the coming days in a city", &["city"]),
        ]
    }

    #[test]
    fn what_fits_is_found_and_nothing_else() {
        let index = ToolIndex::new(&tools());
        let cases: [(&str, &[&str]); 10] = [
            ("echo a message", &["mcp__all__echo"]),
            ("add two numbers", &["mcp__all__get_sum"]),
            ("mcp__fs__write_file", &["mcp__fs__write_file"]),
            ("write_file, get_env", &["mcp__fs__write_file", "mcp__all__get_env"]),
            ("environment variable", &["mcp__all__get_env"]),
            ("weather", &["mcp__web__get_forecast"]),
            ("list directories", &["mcp__fs__list_directory"]),
            ("zebra quantum", &[]),
            ("deploy a kubernetes cluster to the city", &[]),
            ("", &[]),
        ];
        for (query, expected) in cases {
            assert_eq!(index.search(query, 8, |_| true).tools, expected, "{query}");
        }
        let read = index.search("read a file", 8, |_| true).tools;
        assert_eq!(read, ["mcp__fs__read_multiple_files", "mcp__fs__read_text_file"]);
        assert_eq!(index.search("read a file", 1, |_| true).tools.len(), 1);
        assert!(index.search("echo", 8, |name| name != "mcp__all__echo").tools.is_empty());
        let missed = index.search("deploy a kubernetes cluster to the city", 8, |_| true);
        assert_eq!(missed.nearest, ["mcp__web__get_forecast"]);
    }

    #[test]
    fn variants_of_schemas_and_scripts_without_spaces_are_found() {
        let variants = json!({
            "type": "object",
            "oneOf": [
                { "description": "A refund", "properties": { "invoice": { "type": "string" } } },
                { "properties": { "shipment": { "anyOf": [{ "description": "Its parcel" }] } } },
            ],
        });
        let order = FnTool::new(Tool::new("order", "Changes", variants), |_: Invocation| async {
            Ok(ToolOutput::text(""))
        });
        let order = ToolRegistration::new(Arc::new(order));
        let mut all = tools();
        all.push(CallableTool::new(Arc::clone(&order.tool), Some(&order)));
        all.push(tool("cn", "find", "在文件中搜索文本", &[]));
        let index = ToolIndex::new(&all);
        for query in ["refund", "invoice", "shipment", "parcel"] {
            assert_eq!(index.search(query, 8, |_| true).tools, ["order"], "{query}");
        }
        assert_eq!(index.search("搜索文件", 8, |_| true).tools, ["mcp__cn__find"]);
    }
}
