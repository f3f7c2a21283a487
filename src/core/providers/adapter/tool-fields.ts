import type { ToolForProvider } from '../../tool/index.ts';
import type { Json } from './json.ts';

/** Converts what a provider is told about a tool to the fields of Anthropic's and OpenAI's APIs. */
export function toToolFields({ strict, deferLoading, allowedCallers }: ToolForProvider): Json {
	return {
		...(strict !== undefined && { strict }),
		...(deferLoading !== undefined && { defer_loading: deferLoading }),
		...(allowedCallers !== undefined && { allowed_callers: allowedCallers }),
	};
}
