//! Formats floats as go-yaml v2 prints numbers that it decoded from JSON.
//!
//! This module does not depend on nodes.

use crate::gocompat::strconv::{format_float, format_float_fixed};

/// The lowest absolute value of floats that cannot be 64-bit integers.
const LARGE: f64 = 1e21;

/// Writes a finite float as `kustomize build` prints it.
///
/// kustomize passes numbers through JSON and parses them again, so that whole numbers that fit in 64 bits become
/// integers (`1.0` is `1`). Other floats with seven or more integer digits have an exponent: `12345678.9` is
/// `1.23456789e+07`.
pub(super) fn write_yaml_float(float: f64, out: &mut String) {
    if float == 0.0 {
        return out.push('0');
    }
    if float.fract() == 0.0 && float.abs() < LARGE {
        let digits = format_float_fixed(float);
        if digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok() {
            return out.push_str(&digits);
        }
    }
    out.push_str(&format_float(float));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gocompat::json::write_float;

    #[test]
    fn floats_are_printed_as_in_go() {
        // Columns: float, JSON, YAML.
        let table = [
            (0.0, "0", "0"),
            (-0.0, "-0", "0"),
            (1.0, "1", "1"),
            (-2.5, "-2.5", "-2.5"),
            (0.1, "0.1", "0.1"),
            (0.0001, "0.0001", "0.0001"),
            (0.000_012, "0.000012", "1.2e-05"),
            (0.000_001, "0.000001", "1e-06"),
            (1.5e-7, "1.5e-7", "1.5e-07"),
            (1e-123, "1e-123", "1e-123"),
            (123_456.5, "123456.5", "123456.5"),
            (1_234_567.5, "1234567.5", "1.2345675e+06"),
            (12_345_678.9, "12345678.9", "1.23456789e+07"),
            (1e15, "1000000000000000", "1000000000000000"),
            (9_223_372_036_854_775_807_f64, "9223372036854776000", "9223372036854776000"),
            (1e19, "10000000000000000000", "10000000000000000000"),
            (-1e19, "-10000000000000000000", "-1e+19"),
            (1e20, "100000000000000000000", "1e+20"),
            (1e21, "1e+21", "1e+21"),
            (980_788_365_087_941.2, "980788365087941.2", "9.807883650879412e+14"),
            (5e-324, "5e-324", "5e-324"),
            (f64::MAX, "1.7976931348623157e+308", "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308", "2.2250738585072014e-308"),
        ];
        for (float, json, yaml) in table {
            let (mut as_json, mut as_yaml) = (String::new(), String::new());
            write_float(float, &mut as_json);
            write_yaml_float(float, &mut as_yaml);
            assert_eq!((as_json.as_str(), as_yaml.as_str()), (json, yaml), "{float:e}");
        }
    }
}
