/** Errors of the REST interface, in BigQuery's JSON form. */

/** A call that is answered with an HTTP status other than 200. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** BigQuery's short word for the cause, such as `notFound`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** @param reason another of the reasons that go with status 400 */
export function invalid(message: string, reason = "invalid"): ApiError {
  return new ApiError(400, reason, message);
}

/** @param what kind and name, such as `Table p:d.t` */
export function notFound(what: string): ApiError {
  return new ApiError(404, "notFound", `Not found: ${what}`);
}

/** @param what kind and name, such as `Table p:d.t` */
export function duplicate(what: string): ApiError {
  return new ApiError(409, "duplicate", `Already Exists: ${what}`);
}

/** Canonical statuses by HTTP code. */
const statusNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ALREADY_EXISTS",
  412: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** The body of the answer. */
export function errorBody({ status, reason, message }: ApiError): object {
  return {
    error: {
      code: status,
      message,
      errors: [{ message, domain: "global", reason }],
      status: statusNames[status] ?? "UNKNOWN",
    },
  };
}

/** HTTP code and reason of a canonical status, as BigQuery pairs them. */
const httpStatuses: Readonly<Record<string, readonly [code: number, reason: string]>> = {
  INVALID_ARGUMENT: [400, "invalid"],
  FAILED_PRECONDITION: [412, "conditionNotMet"],
  OUT_OF_RANGE: [400, "invalid"],
  UNAUTHENTICATED: [401, "authError"],
  PERMISSION_DENIED: [403, "accessDenied"],
  NOT_FOUND: [404, "notFound"],
  ALREADY_EXISTS: [409, "duplicate"],
  ABORTED: [409, "aborted"],
  RESOURCE_EXHAUSTED: [429, "quotaExceeded"],
  CANCELLED: [499, "stopped"],
  UNIMPLEMENTED: [501, "notImplemented"],
  UNAVAILABLE: [503, "backendError"],
  DEADLINE_EXCEEDED: [504, "timeout"],
};

/** @param status canonical name; one that BigQuery has no code for is an internal error */
export function errorOfStatus(status: string, message: string): ApiError {
  const [code, reason] = httpStatuses[status] ?? [500, "internalError"];
  return new ApiError(code, reason, message);
}
