//! Compaction, against what was observed of the TypeScript pi and rule by rule.

mod cycle;
mod fixture;
mod long;
mod observed;
mod recovery;
mod summaries;
mod triggers;
