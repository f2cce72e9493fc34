//! `kubectl smp cache`: what was kept, and taking it out; and where all commands keep it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context as _;
use clap::builder::OsStringValueParser;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::form::ReportFormat;
use super::report::{print_json, print_line};
use super::{Failure, Outcome};
use smp_files::{CacheEntry, CacheKind, Cleared, user_cache};
use smp_overlay::overlay::{RemoteCache, without_secrets};
use smp_overlay::schema_chain::cache::SchemaCache;
use smp_text::diagnostic::{Code, Diagnostic, escaped};

/// Where things are kept.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct CacheArgs {
    /// Directory of all caches, in place of the user's
    #[arg(long, value_name = "DIR", env = "KUBECTL_SMP_CACHE_DIR", global = true, hide_short_help = true, value_parser = OsStringValueParser::new())]
    cache_dir: Option<OsString>,
}

impl CacheArgs {
    /// The directory, if one was given. An empty name counts as none.
    pub(super) fn root(&self) -> Option<PathBuf> {
        let given = self.cache_dir.as_ref().filter(|directory| !directory.is_empty()).map(PathBuf::from);
        // Without a working directory only an absolute path has a meaning.
        given.map(|directory| std::path::absolute(&directory).unwrap_or(directory))
    }
}

/// Look at what was fetched and kept, and take it out.
#[derive(Debug, Args)]
pub(super) struct CacheCommand {
    #[command(flatten)]
    cache: CacheArgs,

    #[command(subcommand)]
    command: CacheSubcommand,
}

#[derive(Debug, Subcommand)]
enum CacheSubcommand {
    /// Print the directory of all caches
    Path,
    /// List what is kept: repositories and files that builds fetched, schemas and what servers said of them
    List(CacheListArgs),
    /// Remove all of it, but for what other programs use now
    Clear,
    /// Remove what was not used for 30 days, what is damaged, and the oldest files beyond 1 GiB
    Prune,
}

#[derive(Debug, Args)]
struct CacheListArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    output: ReportFormat,
}

pub(super) fn run(args: &CacheCommand) -> Outcome {
    let none = || {
        Diagnostic::error(Code::Io, "this user has no directory for caches")
            .help("name one with --cache-dir or KUBECTL_SMP_CACHE_DIR")
    };
    let root = args.cache.root().or_else(user_cache).ok_or_else(none)?;
    let caches = Caches {
        remote: RemoteCache::open(Some(root.clone())).ok_or_else(none)?,
        schema: SchemaCache::open(Some(root.clone())).ok_or_else(none)?,
    };
    let failed = || format!("{} cannot be written to", root.display());
    match &args.command {
        CacheSubcommand::Path => print_line(&root.display().to_string())?,
        CacheSubcommand::List(list) => caches.list(list.output)?,
        CacheSubcommand::Clear => {
            let remote = caches.remote.clear().with_context(failed)?;
            return report(&[remote, caches.schema.clear().with_context(failed)?]);
        }
        CacheSubcommand::Prune => {
            let remote = caches.remote.prune().with_context(failed)?;
            return report(&[remote, caches.schema.prune().with_context(failed)?]);
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Caches {
    remote: RemoteCache,
    schema: SchemaCache,
}

impl Caches {
    fn list(&self, format: ReportFormat) -> Result<(), Failure> {
        let entries = [self.remote.list(), self.schema.list()].concat();
        match format {
            ReportFormat::Text => {
                let mut stdout = io::stdout().lock();
                let columns = entries.iter().map(|entry| {
                    let used = rfc3339(entry.used);
                    (word(entry.kind), bytes(entry.size), used, described(entry))
                });
                let mut rows =
                    vec![("KIND", "SIZE".to_string(), "LAST USED".to_string(), "WHAT".to_string())];
                rows.extend(columns);
                for (kind, size, used, what) in rows {
                    writeln!(stdout, "{kind:<10}  {size:>9}  {used:<20}  {what}")?;
                }
            }
            ReportFormat::Json => {
                let entries: Vec<_> = entries.iter().map(EntryText::new).collect();
                print_json(&entries)?;
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryText {
    kind: &'static str,
    what: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    size: u64,
    last_used: String,
}

impl EntryText {
    fn new(entry: &CacheEntry) -> Self {
        Self {
            kind: word(entry.kind),
            what: without_secrets(&entry.what),
            version: entry.version.clone(),
            size: entry.size,
            last_used: rfc3339(entry.used),
        }
    }
}

fn word(kind: CacheKind) -> &'static str {
    match kind {
        CacheKind::Repository => "repository",
        CacheKind::File => "file",
        CacheKind::Schema => "schema",
        CacheKind::Server => "server",
    }
}

/// What an entry is, in words.
fn described(entry: &CacheEntry) -> String {
    let what = if entry.what.is_empty() { "unknown".to_string() } else { without_secrets(&entry.what) };
    let shown = if entry.version.is_empty() { what } else { format!("{what} {}", entry.version) };
    escaped(&shown).into_owned()
}

/// Says what became of entries. That some are refused is a failure.
fn report(all: &[Cleared]) -> Outcome {
    let mut stdout = io::stdout().lock();
    let (mut count, mut size) = (0_usize, 0);
    for entry in all.iter().flat_map(|cleared| &cleared.removed) {
        writeln!(stdout, "removed {} {}", word(entry.kind), described(entry))?;
        (count, size) = (count + 1, size + entry.size);
    }
    for entry in all.iter().flat_map(|cleared| &cleared.in_use) {
        writeln!(stdout, "kept {} {}, which is in use", word(entry.kind), described(entry))?;
    }
    writeln!(stdout, "{count} removed, {}", bytes(size))?;
    let refused = all.iter().flat_map(|cleared| &cleared.refused).map(|entry| {
        let message = format!("{} {} cannot be removed", word(entry.kind), described(entry));
        Diagnostic::error(Code::Io, message).help("see who owns it, and whether its directory can be written")
    });
    let refused: Vec<_> = refused.collect();
    if refused.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::Problems(refused)) }
}

/// A number of bytes with the unit that suits it.
fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (1..UNITS.len()).take_while(|unit| number >> (10 * unit) > 0).last().unwrap_or(0);
    if unit == 0 {
        return format!("{number} B");
    }
    let tenths = (u128::from(number) * 10) >> (10 * unit);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A time in UTC, such as `2026-11-22T05:30:00Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, so that the day of a leap year comes last.
    let (day, era) = ((days + 719_468) % 146_097, (days + 719_468) / 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        if month < 10 { (era * 400 + year, month + 3) } else { (era * 400 + year + 1, month - 9) };
    let (hours, minutes) = (rest / 3_600, rest / 60 % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hours:02}:{minutes:02}:{:02}Z", rest % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_told_in_utc() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_325_400, "2026-11-22T05:30:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, want) in table {
            assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn what_the_system_refuses_is_a_failure() {
        let entry = || CacheEntry {
            kind: CacheKind::File,
            what: "https://me:secret@h/a.yaml".into(),
            version: String::new(),
            size: 1,
            used: SystemTime::UNIX_EPOCH,
        };
        let in_use = Cleared { in_use: vec![entry()], ..Cleared::default() };
        assert!(report(std::slice::from_ref(&in_use)).is_ok());
        let refused = Cleared { refused: vec![entry()], ..Cleared::default() };
        let Err(Failure::Problems(problems)) = report(&[in_use, refused]) else { panic!("no failure") };
        let messages: Vec<_> = problems.iter().map(Diagnostic::message).collect();
        assert_eq!(messages.len(), 1);
        assert!(messages[0].ends_with("h/a.yaml cannot be removed"), "{messages:?}");
        assert!(!messages[0].contains("secret"), "{messages:?}");
    }

    #[test]
    fn sizes_have_units() {
        let table = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1 << 30, "1.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ];
        for (number, want) in table {
            assert_eq!(bytes(number), want);
        }
    }
}
