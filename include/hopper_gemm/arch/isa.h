// THE seam: the only place that asks which machine is being compiled for.
// Everything above includes this header and nothing from ptx/ or emu/. One function is one PTX instruction (or
// one fixed short sequence); both back ends declare the same names and signatures, and tests/cpp/contract.h
// calls every one of them through both compilers.
#pragma once

#if defined(HG_EMULATE)
#include "hopper_gemm/arch/emu/barrier.h"
#include "hopper_gemm/arch/emu/cluster.h"
#include "hopper_gemm/arch/emu/copy.h"
#include "hopper_gemm/arch/emu/thread.h"
#include "hopper_gemm/arch/emu/tma.h"
#include "hopper_gemm/arch/emu/wgmma.h"
#else
#include "hopper_gemm/arch/ptx/barrier.h"
#include "hopper_gemm/arch/ptx/cluster.h"
#include "hopper_gemm/arch/ptx/copy.h"
#include "hopper_gemm/arch/ptx/thread.h"
#include "hopper_gemm/arch/ptx/tma.h"
#include "hopper_gemm/arch/ptx/wgmma.h"
#endif
