//! `kubectl smp cache`, and the flag for the cache directory that all commands share.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context as _;
use clap::builder::OsStringValueParser;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::format::ReportFormat;
use super::report::{print_json, print_line};
use super::{Failure, Outcome};
use smp_files::{CacheEntry, CacheKind, Cleared, user_cache};
use smp_overlay::overlay::{RemoteCache, without_secrets};
use smp_overlay::schema_chain::cache::SchemaCache;
use smp_text::diagnostic::{Code, Diagnostic, escaped};

/// The location of the cache.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct CacheArgs {
    /// Cache directory, instead of the user's default
    #[arg(long, value_name = "DIR", env = "KUBECTL_SMP_CACHE_DIR", global = true, hide_short_help = true, value_parser = OsStringValueParser::new())]
    cache_dir: Option<OsString>,
}

impl CacheArgs {
    /// Returns the directory if the flag is set. An empty value is treated as absent.
    pub(super) fn root(&self) -> Option<PathBuf> {
        let given = self.cache_dir.as_ref().filter(|directory| !directory.is_empty()).map(PathBuf::from);
        // Without a working directory, a relative path cannot be made absolute and is kept.
        given.map(|directory| std::path::absolute(&directory).unwrap_or(directory))
    }
}

/// Inspect and clear the cache.
#[derive(Debug, Args)]
pub(super) struct CacheCommand {
    #[command(flatten)]
    cache: CacheArgs,

    #[command(subcommand)]
    command: CacheSubcommand,
}

#[derive(Debug, Subcommand)]
enum CacheSubcommand {
    /// Print the cache directory
    Path,
    /// List cached repositories, files and schemas
    List(CacheListArgs),
    /// Remove all cache entries that are not in use
    Clear,
    /// Remove old and damaged entries, and limit the cache size
    ///
    /// Removes entries that were not used for 30 days, damaged entries, and, if all files together are
    /// larger than 1 GiB, the oldest of them.
    Prune,
}

#[derive(Debug, Args)]
struct CacheListArgs {
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    output: ReportFormat,
}

pub(super) fn run(args: &CacheCommand) -> Outcome {
    let none = || {
        Diagnostic::error(Code::Io, "no cache directory for this user")
            .help("set one with --cache-dir or KUBECTL_SMP_CACHE_DIR")
    };
    let root = args.cache.root().or_else(user_cache).ok_or_else(none)?;
    let caches = Caches {
        remote: RemoteCache::open(Some(root.clone())).ok_or_else(none)?,
        schema: SchemaCache::open(Some(root.clone())).ok_or_else(none)?,
    };
    let failed = || format!("cannot write to the cache {}", root.display());
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
                    (word(entry.kind), format_size(entry.size), used, description(entry))
                });
                let mut rows =
                    vec![("KIND", "SIZE".to_string(), "LAST USED".to_string(), "SOURCE".to_string())];
                rows.extend(columns);
                for (kind, size, used, source) in rows {
                    writeln!(stdout, "{kind:<10}  {size:>9}  {used:<20}  {source}")?;
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
    source: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    size: u64,
    last_used: String,
}

impl EntryText {
    fn new(entry: &CacheEntry) -> Self {
        Self {
            kind: word(entry.kind),
            source: without_secrets(&entry.source),
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

/// Describes the source and version of an entry.
fn description(entry: &CacheEntry) -> String {
    let source = if entry.source.is_empty() { "unknown".to_string() } else { without_secrets(&entry.source) };
    let shown = if entry.version.is_empty() { source } else { format!("{source} {}", entry.version) };
    escaped(&shown).into_owned()
}

/// Prints the removed entries. Fails if an entry could not be removed.
fn report(all: &[Cleared]) -> Outcome {
    let mut stdout = io::stdout().lock();
    let (mut count, mut size) = (0_usize, 0);
    for entry in all.iter().flat_map(|cleared| &cleared.removed) {
        writeln!(stdout, "removed {} {}", word(entry.kind), description(entry))?;
        (count, size) = (count + 1, size + entry.size);
    }
    for entry in all.iter().flat_map(|cleared| &cleared.in_use) {
        writeln!(stdout, "kept {} {} (in use)", word(entry.kind), description(entry))?;
    }
    writeln!(stdout, "{count} removed, {}", format_size(size))?;
    let refused = all.iter().flat_map(|cleared| &cleared.denied).map(|entry| {
        let message = format!("cannot remove {} {}", word(entry.kind), description(entry));
        Diagnostic::error(Code::Io, message).help("check its owner and the permissions of its directory")
    });
    let refused: Vec<_> = refused.collect();
    if refused.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::Problems(refused)) }
}

/// Formats a number of bytes with a binary unit.
fn format_size(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (1..UNITS.len()).take_while(|unit| number >> (10 * unit) > 0).last().unwrap_or(0);
    if unit == 0 {
        return format!("{number} B");
    }
    let tenths = (u128::from(number) * 10) >> (10 * unit);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Formats a time in UTC, such as `2026-11-22T05:30:00Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The algorithm counts years from March, so that the leap day is the last day of a year.
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
    fn times_are_formatted_in_utc() {
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
    fn entry_that_cannot_be_removed_is_an_error() {
        let entry = || CacheEntry {
            kind: CacheKind::File,
            source: "https://me:secret@h/a.yaml".into(),
            version: String::new(),
            size: 1,
            used: SystemTime::UNIX_EPOCH,
        };
        let in_use = Cleared { in_use: vec![entry()], ..Cleared::default() };
        assert!(report(std::slice::from_ref(&in_use)).is_ok());
        let refused = Cleared { denied: vec![entry()], ..Cleared::default() };
        let Err(Failure::Problems(problems)) = report(&[in_use, refused]) else { panic!("no failure") };
        let messages: Vec<_> = problems.iter().map(Diagnostic::message).collect();
        assert_eq!(messages.len(), 1);
        assert!(messages[0].ends_with("h/a.yaml"), "{messages:?}");
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
            assert_eq!(format_size(number), want);
        }
    }
}
