// Operand lists of wgmma for every N: register names in the PTX text and constraints on the accumulator array.
// One wgmma of width N has N/2 (32-bit) or N/4 (packed 16-bit) accumulator registers; lists grow by 4 and 2.
#pragma once

// Text: HG_REGS_r names registers %0 .. %(r-1).
#define HG_REGS_2 "%0, %1"
#define HG_REGS_4 HG_REGS_2 ", %2, %3"
#define HG_REGS_6 HG_REGS_4 ", %4, %5"
#define HG_REGS_8 HG_REGS_6 ", %6, %7"
#define HG_REGS_10 HG_REGS_8 ", %8, %9"
#define HG_REGS_12 HG_REGS_10 ", %10, %11"
#define HG_REGS_14 HG_REGS_12 ", %12, %13"
#define HG_REGS_16 HG_REGS_14 ", %14, %15"
#define HG_REGS_18 HG_REGS_16 ", %16, %17"
#define HG_REGS_20 HG_REGS_18 ", %18, %19"
#define HG_REGS_22 HG_REGS_20 ", %20, %21"
#define HG_REGS_24 HG_REGS_22 ", %22, %23"
#define HG_REGS_26 HG_REGS_24 ", %24, %25"
#define HG_REGS_28 HG_REGS_26 ", %26, %27"
#define HG_REGS_30 HG_REGS_28 ", %28, %29"
#define HG_REGS_32 HG_REGS_30 ", %30, %31"
#define HG_REGS_34 HG_REGS_32 ", %32, %33"
#define HG_REGS_36 HG_REGS_34 ", %34, %35"
#define HG_REGS_38 HG_REGS_36 ", %36, %37"
#define HG_REGS_40 HG_REGS_38 ", %38, %39"
#define HG_REGS_42 HG_REGS_40 ", %40, %41"
#define HG_REGS_44 HG_REGS_42 ", %42, %43"
#define HG_REGS_46 HG_REGS_44 ", %44, %45"
#define HG_REGS_48 HG_REGS_46 ", %46, %47"
#define HG_REGS_50 HG_REGS_48 ", %48, %49"
#define HG_REGS_52 HG_REGS_50 ", %50, %51"
#define HG_REGS_54 HG_REGS_52 ", %52, %53"
#define HG_REGS_56 HG_REGS_54 ", %54, %55"
#define HG_REGS_58 HG_REGS_56 ", %56, %57"
#define HG_REGS_60 HG_REGS_58 ", %58, %59"
#define HG_REGS_62 HG_REGS_60 ", %60, %61"
#define HG_REGS_64 HG_REGS_62 ", %62, %63"
#define HG_REGS_68 HG_REGS_64 ", %64, %65, %66, %67"
#define HG_REGS_72 HG_REGS_68 ", %68, %69, %70, %71"
#define HG_REGS_76 HG_REGS_72 ", %72, %73, %74, %75"
#define HG_REGS_80 HG_REGS_76 ", %76, %77, %78, %79"
#define HG_REGS_84 HG_REGS_80 ", %80, %81, %82, %83"
#define HG_REGS_88 HG_REGS_84 ", %84, %85, %86, %87"
#define HG_REGS_92 HG_REGS_88 ", %88, %89, %90, %91"
#define HG_REGS_96 HG_REGS_92 ", %92, %93, %94, %95"
#define HG_REGS_100 HG_REGS_96 ", %96, %97, %98, %99"
#define HG_REGS_104 HG_REGS_100 ", %100, %101, %102, %103"
#define HG_REGS_108 HG_REGS_104 ", %104, %105, %106, %107"
#define HG_REGS_112 HG_REGS_108 ", %108, %109, %110, %111"
#define HG_REGS_116 HG_REGS_112 ", %112, %113, %114, %115"
#define HG_REGS_120 HG_REGS_116 ", %116, %117, %118, %119"
#define HG_REGS_124 HG_REGS_120 ", %120, %121, %122, %123"
#define HG_REGS_128 HG_REGS_124 ", %124, %125, %126, %127"

// Constraints: HG_FLOATS_r (f32 accumulators), HG_WORDS_r (packed f16 and s32 accumulators).
#define HG_FLOATS_4 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define HG_FLOATS_8 HG_FLOATS_4, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define HG_FLOATS_12 HG_FLOATS_8, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define HG_FLOATS_16 HG_FLOATS_12, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define HG_FLOATS_20 HG_FLOATS_16, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define HG_FLOATS_24 HG_FLOATS_20, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define HG_FLOATS_28 HG_FLOATS_24, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define HG_FLOATS_32 HG_FLOATS_28, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define HG_FLOATS_36 HG_FLOATS_32, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define HG_FLOATS_40 HG_FLOATS_36, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define HG_FLOATS_44 HG_FLOATS_40, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define HG_FLOATS_48 HG_FLOATS_44, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define HG_FLOATS_52 HG_FLOATS_48, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define HG_FLOATS_56 HG_FLOATS_52, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define HG_FLOATS_60 HG_FLOATS_56, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define HG_FLOATS_64 HG_FLOATS_60, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define HG_FLOATS_68 HG_FLOATS_64, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define HG_FLOATS_72 HG_FLOATS_68, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define HG_FLOATS_76 HG_FLOATS_72, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define HG_FLOATS_80 HG_FLOATS_76, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define HG_FLOATS_84 HG_FLOATS_80, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define HG_FLOATS_88 HG_FLOATS_84, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define HG_FLOATS_92 HG_FLOATS_88, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define HG_FLOATS_96 HG_FLOATS_92, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define HG_FLOATS_100 HG_FLOATS_96, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define HG_FLOATS_104 HG_FLOATS_100, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define HG_FLOATS_108 HG_FLOATS_104, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define HG_FLOATS_112 HG_FLOATS_108, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define HG_FLOATS_116 HG_FLOATS_112, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define HG_FLOATS_120 HG_FLOATS_116, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define HG_FLOATS_124 HG_FLOATS_120, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define HG_FLOATS_128 HG_FLOATS_124, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
#define HG_WORDS_2 "+r"(d[0]), "+r"(d[1])
#define HG_WORDS_4 HG_WORDS_2, "+r"(d[2]), "+r"(d[3])
#define HG_WORDS_6 HG_WORDS_4, "+r"(d[4]), "+r"(d[5])
#define HG_WORDS_8 HG_WORDS_6, "+r"(d[6]), "+r"(d[7])
#define HG_WORDS_10 HG_WORDS_8, "+r"(d[8]), "+r"(d[9])
#define HG_WORDS_12 HG_WORDS_10, "+r"(d[10]), "+r"(d[11])
#define HG_WORDS_14 HG_WORDS_12, "+r"(d[12]), "+r"(d[13])
#define HG_WORDS_16 HG_WORDS_14, "+r"(d[14]), "+r"(d[15])
#define HG_WORDS_18 HG_WORDS_16, "+r"(d[16]), "+r"(d[17])
#define HG_WORDS_20 HG_WORDS_18, "+r"(d[18]), "+r"(d[19])
#define HG_WORDS_22 HG_WORDS_20, "+r"(d[20]), "+r"(d[21])
#define HG_WORDS_24 HG_WORDS_22, "+r"(d[22]), "+r"(d[23])
#define HG_WORDS_26 HG_WORDS_24, "+r"(d[24]), "+r"(d[25])
#define HG_WORDS_28 HG_WORDS_26, "+r"(d[26]), "+r"(d[27])
#define HG_WORDS_30 HG_WORDS_28, "+r"(d[28]), "+r"(d[29])
#define HG_WORDS_32 HG_WORDS_30, "+r"(d[30]), "+r"(d[31])
#define HG_WORDS_34 HG_WORDS_32, "+r"(d[32]), "+r"(d[33])
#define HG_WORDS_36 HG_WORDS_34, "+r"(d[34]), "+r"(d[35])
#define HG_WORDS_38 HG_WORDS_36, "+r"(d[36]), "+r"(d[37])
#define HG_WORDS_40 HG_WORDS_38, "+r"(d[38]), "+r"(d[39])
#define HG_WORDS_42 HG_WORDS_40, "+r"(d[40]), "+r"(d[41])
#define HG_WORDS_44 HG_WORDS_42, "+r"(d[42]), "+r"(d[43])
#define HG_WORDS_46 HG_WORDS_44, "+r"(d[44]), "+r"(d[45])
#define HG_WORDS_48 HG_WORDS_46, "+r"(d[46]), "+r"(d[47])
#define HG_WORDS_50 HG_WORDS_48, "+r"(d[48]), "+r"(d[49])
#define HG_WORDS_52 HG_WORDS_50, "+r"(d[50]), "+r"(d[51])
#define HG_WORDS_54 HG_WORDS_52, "+r"(d[52]), "+r"(d[53])
#define HG_WORDS_56 HG_WORDS_54, "+r"(d[54]), "+r"(d[55])
#define HG_WORDS_58 HG_WORDS_56, "+r"(d[56]), "+r"(d[57])
#define HG_WORDS_60 HG_WORDS_58, "+r"(d[58]), "+r"(d[59])
#define HG_WORDS_62 HG_WORDS_60, "+r"(d[60]), "+r"(d[61])
#define HG_WORDS_64 HG_WORDS_62, "+r"(d[62]), "+r"(d[63])
#define HG_WORDS_68 HG_WORDS_64, "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67])
#define HG_WORDS_72 HG_WORDS_68, "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71])
#define HG_WORDS_76 HG_WORDS_72, "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75])
#define HG_WORDS_80 HG_WORDS_76, "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79])
#define HG_WORDS_84 HG_WORDS_80, "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83])
#define HG_WORDS_88 HG_WORDS_84, "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87])
#define HG_WORDS_92 HG_WORDS_88, "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91])
#define HG_WORDS_96 HG_WORDS_92, "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95])
#define HG_WORDS_100 HG_WORDS_96, "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), "+r"(d[99])
#define HG_WORDS_104 HG_WORDS_100, "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103])
#define HG_WORDS_108 HG_WORDS_104, "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107])
#define HG_WORDS_112 HG_WORDS_108, "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111])
#define HG_WORDS_116 HG_WORDS_112, "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115])
#define HG_WORDS_120 HG_WORDS_116, "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119])
#define HG_WORDS_124 HG_WORDS_120, "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123])
#define HG_WORDS_128 HG_WORDS_124, "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])
