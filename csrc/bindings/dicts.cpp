// Enumerations appear in Python by name, swizzles as spans in bytes (16: none), as in the manifest.
#include "dicts.h"

#include "text.h"

namespace hopper_gemm {
namespace {

// The value of an enumeration from its name: tries them in order.
template <class Enum>
Enum enum_of(const std::string& given, const char* field, int count) {
  std::string names;
  for (int i = 0; i < count; ++i) {
    if (given == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
    names += text(i ? ", " : "", name_of(static_cast<Enum>(i)));
  }
  throw Error(Error::Kind::value, text(field, " '", given, "': expected one of ", names));
}

Swizzle swizzle_of(int span) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    if (swizzle_span_bytes(swizzle) == span) return swizzle;
  throw Error(Error::Kind::value, text("swizzle span ", span, ": expected 16 (none), 32, 64 or 128 bytes"));
}

}  // namespace

py::dict kernel_dict(int id) {
  const KernelInfo& info = kernels().at(id);
  const KernelConfig& c = info.config;
  py::dict d;
  d["id"] = id;
  d["name"] = info.name;
  d["schedule"] = name_of(c.schedule);
  d["a_type"] = name_of(c.a_type);
  d["b_type"] = name_of(c.b_type);
  d["accumulator"] = name_of(c.accumulator);
  d["a_major"] = name_of(c.a_major);
  d["b_major"] = name_of(c.b_major);
  d["tile_m"] = c.tile_m;
  d["tile_n"] = c.tile_n;
  d["tile_k"] = c.tile_k;
  d["cluster_m"] = c.cluster_m;
  d["cluster_n"] = c.cluster_n;
  d["stages"] = c.stages;
  d["consumers"] = c.consumers;
  d["a_swizzle"] = swizzle_span_bytes(c.a_swizzle);
  d["b_swizzle"] = swizzle_span_bytes(c.b_swizzle);
  d["store"] = name_of(c.store);
  d["mmas_in_flight"] = c.mmas_in_flight;
  d["cluster_k"] = c.cluster_k;
  d["promote_k"] = c.promote_k;
  d["alternates"] = c.alternates();
  d["turns_k"] = c.turns_k();
  d["turns_when_told"] = c.turns_when_told();
  d["output"] = name_of(c.output);
  d["fused_epilogue"] = c.fused_epilogue;
  d["automatic"] = info.automatic;
  d["compiled"] = info.compiled;
  d["emulated"] = info.emulated;
  d["threads"] = c.threads();
  d["shared_bytes"] = c.shared_bytes();
  d["stage_bytes"] = c.stage_bytes();
  d["persistent"] = c.is_persistent();
  return d;
}

py::dict launch_dict(const LaunchShape& s) {
  py::dict d;
  d["grid"] = s.grid;
  d["cluster"] = s.cluster;
  d["threads"] = s.threads;
  d["shared_bytes"] = s.shared_bytes;
  d["tiles_m"] = s.tiles_m;
  d["tiles_n"] = s.tiles_n;
  d["store"] = name_of(s.store);
  return d;
}

py::dict device_dict(const DeviceInfo& i) {
  py::dict d;
  d["available"] = i.available;
  d["reason"] = i.reason;
  d["name"] = i.name;
  d["sm_count"] = i.sm_count;
  d["major"] = i.major;
  d["minor"] = i.minor;
  d["driver_version"] = i.driver_version;
  d["runtime_version"] = i.runtime_version;
  d["l2_bytes"] = i.l2_bytes;
  return d;
}

py::dict resources_dict(const KernelResources& r) {
  py::dict d;
  d["registers"] = r.registers;
  d["static_shared_bytes"] = r.static_shared_bytes;
  d["local_bytes"] = r.local_bytes;
  d["max_threads"] = r.max_threads;
  d["resident_clusters"] = r.resident_clusters;
  return d;
}

py::dict report_dict(const EmulatorReport& report) {
  py::list trace;
  for (const TraceEvent& e : report.trace) {
    py::dict event;
    event["begin"] = e.begin;
    event["end"] = e.end;
    event["cta"] = e.cta;
    event["warpgroup"] = e.warpgroup;
    event["tile"] = e.tile;
    event["activity"] = e.activity;
    trace.append(event);
  }
  py::list spans;
  for (const TraceSpan& s : report.spans) {
    py::dict span;
    span["begin"] = s.begin;
    span["end"] = s.end;
    span["cta"] = s.cta;
    span["warpgroup"] = s.warpgroup;
    span["stage"] = s.stage;
    span["kind"] = s.kind;
    spans.append(span);
  }
  py::dict d;
  d["findings"] = report.findings;
  d["spans"] = spans;
  d["stmatrix_rows"] = report.stmatrix_rows;
  d["stmatrix_cycles"] = report.stmatrix_cycles;
  d["early_loads"] = py::make_tuple(report.early_a, report.early_b);
  d["trace"] = trace;
  d["steps"] = report.steps;
  return d;
}

KernelConfig config_of(const py::dict& fields) {
  const auto field = [&](const char* name) {
    if (!fields.contains(name))
      throw Error(Error::Kind::value, text("a config needs the field '", name, "' (see manifest.Row)"));
    return fields[name];
  };
  const auto word = [&](const char* name) { return field(name).template cast<std::string>(); };
  const auto number = [&](const char* name) { return field(name).template cast<int>(); };
  return {.schedule = enum_of<Schedule>(word("schedule"), "schedule", 5),
          .a_type = enum_of<DataType>(word("a_type"), "a_type", kDataTypes),
          .b_type = enum_of<DataType>(word("b_type"), "b_type", kDataTypes),
          .accumulator = enum_of<DataType>(word("accumulator"), "accumulator", kDataTypes),
          .a_major = enum_of<Major>(word("a_major"), "a_major", 2),
          .b_major = enum_of<Major>(word("b_major"), "b_major", 2),
          .tile_m = number("tile_m"),
          .tile_n = number("tile_n"),
          .tile_k = number("tile_k"),
          .cluster_m = number("cluster_m"),
          .cluster_n = number("cluster_n"),
          .stages = number("stages"),
          .consumers = number("consumers"),
          .a_swizzle = swizzle_of(number("a_swizzle")),
          .b_swizzle = swizzle_of(number("b_swizzle")),
          .store = enum_of<Store>(word("store"), "store", 2),
          .mmas_in_flight = number("mmas_in_flight"),
          .output = enum_of<OutputOrder>(word("output"), "output", 2),
          .cluster_k = number("cluster_k"),
          .promote_k = number("promote_k"),
          .fused_epilogue = !fields.contains("fused_epilogue") || fields["fused_epilogue"].cast<bool>()};
}

}  // namespace hopper_gemm
