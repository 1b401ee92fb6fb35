//! Tables of rows that many models share.
//!
//! Rows are sorted by use, the most used first: their numbers are short, and the reader, which finds
//! a row by counting lines, counts least for the rows it needs most.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

/// Rows being collected, with the number of uses of each.
#[derive(Debug, Default)]
pub(super) struct Rows(BTreeMap<String, usize>);

/// Collected rows in their final order.
#[derive(Debug)]
pub(super) struct Table(Vec<String>);

impl Rows {
    /// Counts one use of this value.
    pub(super) fn add(&mut self, value: &impl Serialize) -> Result<(), serde_json::Error> {
        *self.0.entry(row(value)?).or_default() += 1;
        Ok(())
    }

    /// Fixes the order. Ties are broken by the text, so that equal input gives equal output.
    pub(super) fn finish(self) -> Table {
        let mut rows: Vec<(String, usize)> = self.0.into_iter().collect();
        rows.sort_by_key(|(_, uses)| Reverse(*uses));
        Table(rows.into_iter().map(|(row, _)| row).collect())
    }
}

impl Table {
    /// Returns the number of the row with this value; `None` if it was never added.
    pub(super) fn number(
        &self,
        value: &impl Serialize,
    ) -> Result<Option<usize>, serde_json::Error> {
        let wanted = row(value)?;
        Ok(self.0.iter().position(|row| *row == wanted))
    }

    /// Returns the table with one line per row.
    pub(super) fn text(&self) -> String {
        self.0.iter().flat_map(|row| [row.as_str(), "\n"]).collect()
    }
}

/// Formats a value as one line of JSON. The keys are sorted, because records that differ only in the
/// order of their keys mean the same and should share a row.
fn row(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut value = serde_json::to_value(value)?;
    value.sort_all_objects();
    serde_json::to_string(&value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_shared_and_ordered_by_use() {
        let mut rows = Rows::default();
        for value in [json!("b"), json!({"x":1,"y":2}), json!("a"), json!({"y":2,"x":1})] {
            rows.add(&value).unwrap();
        }
        let table = rows.finish();
        assert_eq!(table.text(), "{\"x\":1,\"y\":2}\n\"a\"\n\"b\"\n");
        assert_eq!(table.number(&"b").unwrap(), Some(2));
        assert_eq!(table.number(&"c").unwrap(), None);
    }
}
