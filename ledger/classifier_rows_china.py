"""Rows for the Chinese vendors, whose numeric codes mean something only to themselves.

Here: numeric codes, each for its own provider, and the vendors' named codes. Not here: their sentences, which the
general table reads in both languages.
"""

from typing import Final

from ledger.classifier_row import Row
from ledger.failures import FailureKind as K

_ZHIPU: Final = ("zhipu", "zai", "bigmodel", "glm")
_ZAI: Final = "https://docs.z.ai/api-reference/api-code"
_MINIMAX: Final = "https://platform.minimax.io/docs/api-reference/errorcode"
_DASHSCOPE: Final = "https://help.aliyun.com/zh/model-studio/error-code"
_ARK: Final = "https://www.volcengine.com/docs/82379/1299023"
_SILICON: Final = "https://docs.siliconflow.cn/en/faqs/error-code"
_QIANFAN: Final = "https://cloud.baidu.com/doc/WENXINWORKSHOP/s/tlmyncueh"
_HUNYUAN: Final = "https://cloud.tencent.com/document/product/1729/101843"
_IFLYTEK: Final = ("spark", "iflytek", "xunfei", "xfyun")
_SPARK: Final = "https://www.xfyun.cn/doc/spark/Web.html"

CHINA: Final = (
    Row(rule="zhipu.balance", source=_ZAI, kind=K.BILLING, providers=_ZHIPU, codes=("1113", "1309", "1311")),
    Row(rule="zhipu.account", source=_ZAI, kind=K.ACCESS_DENIED, providers=_ZHIPU, codes=("1112", "1121", "1220")),
    Row(
        rule="zhipu.allowance", source=_ZAI, kind=K.QUOTA_EXHAUSTED, providers=_ZHIPU,
        codes=("1304", "1308", "1310", "1313", "1314", "1315", "1316", "1317", "1318", "1319", "1320", "1321"),
    ),
    Row(rule="zhipu.rate", source=_ZAI, kind=K.RATE_LIMITED, providers=_ZHIPU, codes=("1302", "1303")),
    Row(rule="zhipu.overloaded", source=_ZAI, kind=K.OVERLOADED, providers=_ZHIPU, codes=("1305", "1312")),
    Row(
        rule="zhipu.key", source=_ZAI, kind=K.AUTH, providers=_ZHIPU,
        codes=("1000", "1001", "1002", "1003", "1004", "1110", "1111"),
    ),
    Row(rule="zhipu.model", source=_ZAI, kind=K.MODEL_UNAVAILABLE, providers=_ZHIPU, codes=("1211", "1221", "1222")),
    Row(rule="zhipu.length", source=_ZAI, kind=K.TOO_LARGE, providers=_ZHIPU, codes=("1261",)),
    Row(rule="zhipu.policy", source=_ZAI, kind=K.CONTENT_REFUSED, providers=_ZHIPU, codes=("1301",)),
    Row(
        rule="zhipu.fault", source=_ZAI, kind=K.SERVER_ERROR, providers=_ZHIPU,
        codes=("1120", "1200", "1230", "1234", "500"),
    ),
    Row(rule="minimax.balance", source=_MINIMAX, kind=K.BILLING, providers=("minimax",), codes=("1008",)),
    Row(
        rule="minimax.rate", source=_MINIMAX, kind=K.RATE_LIMITED, providers=("minimax",),
        codes=("1002", "1041", "2045"),
    ),
    Row(rule="minimax.allowance", source=_MINIMAX, kind=K.QUOTA_EXHAUSTED, providers=("minimax",), codes=("2056",)),
    Row(rule="minimax.key", source=_MINIMAX, kind=K.AUTH, providers=("minimax",), codes=("1004", "2049")),
    Row(
        rule="minimax.policy", source=_MINIMAX, kind=K.CONTENT_REFUSED, providers=("minimax",),
        codes=("1026", "1027"),
    ),
    Row(rule="minimax.length", source=_MINIMAX, kind=K.TOO_LARGE, providers=("minimax",), codes=("1039",)),
    Row(rule="minimax.timeout", source=_MINIMAX, kind=K.TIMEOUT, providers=("minimax",), codes=("1001",)),
    Row(
        rule="minimax.fault", source=_MINIMAX, kind=K.SERVER_ERROR, providers=("minimax",),
        codes=("1000", "1013", "1024", "1033"),
    ),
    Row(
        rule="minimax.request", source=_MINIMAX, kind=K.INVALID_REQUEST, providers=("minimax",),
        codes=("2013", "1042"),
    ),
    Row(
        rule="dashscope.arrears", source=_DASHSCOPE, kind=K.BILLING,
        codes=(
            "Arrearage", "AccessDenied.Unpurchased", "PrepaidBillOverdue", "PostpaidBillOverdue",
            "CommodityNotPurchased",
        ),
    ),
    Row(
        rule="dashscope.free_tier", source=_DASHSCOPE, kind=K.BILLING,
        codes=("AllocationQuota.FreeTierOnly", "Throttling.AllocationQuota.FreeTierOnly"),
    ),
    Row(
        rule="dashscope.free_allowance", source="https://github.com/QwenLM/qwen-code", kind=K.QUOTA_EXHAUSTED,
        phrases=("free allocated quota exceeded",),
    ),
    Row(
        rule="dashscope.quota_is_rate", source="https://github.com/QwenLM/Qwen/issues/2254", kind=K.RATE_LIMITED,
        providers=("dashscope", "qwen", "alibaba", "aliyun", "bailian"), codes=("insufficient_quota",),
    ),
    Row(
        rule="dashscope.allocated", source="https://github.com/QwenLM/Qwen/issues/2254", kind=K.RATE_LIMITED,
        phrases=("allocated quota exceeded",),
    ),
    Row(
        rule="dashscope.rate", source=_DASHSCOPE, kind=K.RATE_LIMITED,
        codes=(
            "Throttling.RateQuota", "Throttling.BurstRate", "LimitRequests", "limit_requests", "limit_burst_rate",
            "Throttling.AllocationQuota", "insufficient_quota_tpm",
        ),
        unless=("daily", "per day", "per month"),
    ),
    Row(
        rule="dashscope.policy", source=_DASHSCOPE, kind=K.CONTENT_REFUSED,
        codes=("DataInspectionFailed", "data_inspection_failed", "ContentRisk"),
    ),
    Row(
        rule="ark.overdue", source=_ARK, kind=K.BILLING,
        codes=("AccountOverdueError", "AccountOverdue", "InvalidSubscription"),
    ),
    Row(
        rule="ark.rate", source=_ARK, kind=K.RATE_LIMITED,
        codes=(
            "RateLimitExceeded.EndpointTPMExceeded", "RateLimitExceeded.EndpointRPMExceeded",
            "ModelAccountTpmRateLimitExceeded", "ModelAccountRpmRateLimitExceeded",
            "ModelAccountIpmRateLimitExceeded", "AccountRateLimitExceeded", "APIAccountRpmRateLimitExceeded",
            "InflightBatchsizeExceeded",
        ),
    ),
    Row(
        rule="ark.allowance", source=_ARK, kind=K.QUOTA_EXHAUSTED,
        codes=("QuotaExceeded", "SetLimitExceeded", "AccountQuotaExceeded"),
    ),
    Row(
        rule="ark.overloaded", source=_ARK, kind=K.OVERLOADED,
        codes=("ServerOverloaded", "ModelLoadingError", "RequestBurstTooFast"),
    ),
    Row(
        rule="ark.model", source=_ARK, kind=K.MODEL_UNAVAILABLE,
        codes=(
            "InvalidEndpointOrModel.NotFound", "ModelNotOpen", "InvalidEndpoint.NotFound",
            "InvalidEndpointOrModel.ModelIDAccessDisabled", "InvalidEndpoint.ClosedEndpoint", "UnsupportedModel",
        ),
    ),
    Row(
        rule="ark.policy", source=_ARK, kind=K.CONTENT_REFUSED,
        codes=(
            "SensitiveContentDetected", "InputTextSensitiveContentDetected", "OutputTextSensitiveContentDetected",
            "InputImageSensitiveContentDetected", "OutputImageSensitiveContentDetected",
            "SensitiveContentDetected.SevereViolation", "SensitiveContentDetected.Violence",
        ),
    ),
    Row(rule="siliconflow.balance", source=_SILICON, kind=K.BILLING, providers=("silicon",), codes=("30001",)),
    Row(
        rule="siliconflow.model", source=_SILICON, kind=K.MODEL_UNAVAILABLE, providers=("silicon",),
        codes=("20012", "30003"),
    ),
    Row(
        rule="siliconflow.overloaded", source=_SILICON, kind=K.OVERLOADED, providers=("silicon",),
        codes=("50505", "50603", "50508"),
    ),
    Row(
        rule="qianfan.per_day", source=_QIANFAN, kind=K.QUOTA_EXHAUSTED, providers=("baidu", "qianfan", "ernie"),
        codes=("17", "19"),
    ),
    Row(
        rule="qianfan.rate", source=_QIANFAN, kind=K.RATE_LIMITED, providers=("baidu", "qianfan", "ernie"),
        codes=("4", "18", "336501", "336502"),
    ),
    Row(
        rule="qianfan.busy", source=_QIANFAN, kind=K.OVERLOADED, providers=("baidu", "qianfan", "ernie"),
        codes=("2", "336100"),
    ),
    Row(
        rule="qianfan.key", source=_QIANFAN, kind=K.AUTH, providers=("baidu", "qianfan", "ernie"),
        codes=("13", "14", "110", "111"),
    ),
    Row(
        rule="qianfan.length", source=_QIANFAN, kind=K.TOO_LARGE, providers=("baidu", "qianfan", "ernie"),
        codes=("336007", "336103", "336104"),
    ),
    Row(
        rule="hunyuan.money", source=_HUNYUAN, kind=K.BILLING,
        codes=(
            "FailedOperation.ResourcePackExhausted", "FailedOperation.UserUnAuthError", "FailedOperation.ServiceStop",
            "FailedOperation.ServiceStopArrears", "FailedOperation.ServiceNotActivated",
        ),
    ),
    Row(
        rule="hunyuan.key", source=_HUNYUAN, kind=K.AUTH,
        codes=(
            "AuthFailure.SignatureFailure", "AuthFailure.SignatureExpire", "AuthFailure.SecretIdNotFound",
            "AuthFailure.InvalidSecretId", "AuthFailure.TokenFailure", "AuthFailure.InvalidAuthorization",
        ),
    ),
    Row(
        rule="hunyuan.policy", source=_HUNYUAN, kind=K.CONTENT_REFUSED,
        codes=("OperationDenied.TextIllegalDetected", "OperationDenied.ImageIllegalDetected"),
    ),
    Row(
        rule="hunyuan.busy", source=_HUNYUAN, kind=K.OVERLOADED,
        codes=("FailedOperation.EngineServerLimitExceeded", "FailedOperation.EngineRequestTimeout"),
    ),
    Row(
        rule="spark.licence", source=_SPARK, kind=K.ACCESS_DENIED, providers=_IFLYTEK,
        codes=("10015", "10016", "11200"),
    ),
    Row(rule="spark.per_day", source=_SPARK, kind=K.QUOTA_EXHAUSTED, providers=_IFLYTEK, codes=("11201",)),
    Row(
        rule="spark.rate", source=_SPARK, kind=K.RATE_LIMITED, providers=_IFLYTEK,
        codes=("10006", "10007", "11202", "11203"),
    ),
    Row(rule="spark.busy", source=_SPARK, kind=K.OVERLOADED, providers=_IFLYTEK, codes=("10008", "10110")),
    Row(
        rule="spark.policy", source=_SPARK, kind=K.CONTENT_REFUSED, providers=_IFLYTEK,
        codes=("10013", "10014", "10019", "10021"),
    ),
    Row(rule="spark.length", source=_SPARK, kind=K.TOO_LARGE, providers=_IFLYTEK, codes=("10907",)),
    Row(
        rule="spark.request", source=_SPARK, kind=K.INVALID_REQUEST, providers=_IFLYTEK,
        codes=("10003", "10004", "10005", "10163"),
    ),
    Row(
        rule="spark.fault", source=_SPARK, kind=K.SERVER_ERROR, providers=_IFLYTEK,
        codes=("10009", "10010", "10011", "10012", "10222", "10223"),
    ),
)  # fmt: skip
