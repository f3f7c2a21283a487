/** The module `runlet/cloudflare/traces` (docs/observability.md). */

import * as v from 'valibot';
import { assertKnownFields, check } from '../../core/base/check.ts';
import type { Env } from '../../core/base/env.ts';
import { blameCaller } from '../../core/base/errors.ts';
import type { TraceExporter } from '../session/run/trace-exporter.ts';
import { SessionExporter } from './exporter.ts';

export type { TraceExporter } from '../session/run/trace-exporter.ts';

/** The options of `otlp`. */
export interface OtlpOptions {
	/**
	 * The address that takes OTLP/JSON, such as `https://otlp.example.com/v1/traces`, or a function of the environment.
	 * Where the function returns nothing, nothing is exported.
	 */
	readonly url: string | ((env: Env) => string | undefined);
	/** The headers of each request, or a function of the environment, because keys are secrets there. None by default. */
	readonly headers?: Readonly<Record<string, string>> | ((env: Env) => Readonly<Record<string, string>>);
	/** Whether spans have texts, arguments and results. They have none by default. */
	readonly content?: boolean;
	/** The value of `service.name`. The default is `runlet`. */
	readonly service?: string;
}

const optionNames = ['url', 'headers', 'content', 'service'] as const satisfies (keyof OtlpOptions)[];

const ofEnv = (value: unknown): boolean => typeof value === 'function';
const schema = v.object({
	url: v.union(
		[
			v.pipe(v.string(), v.url(), v.regex(/^https?:/), v.maxLength(2_048)),
			v.custom<(env: Env) => string | undefined>(ofEnv),
		],
		'must be an address such as https://otlp.example.com/v1/traces, or a function of the environment that gives one',
	),
	headers: v.optional(
		v.union(
			[v.record(v.string(), v.string()), v.custom<(env: Env) => Readonly<Record<string, string>>>(ofEnv)],
			'must be an object of texts, or a function of the environment that gives one',
		),
	),
	content: v.optional(v.boolean('must be true or false')),
	service: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200))),
});

/**
 * Exports the trace of each run by OTLP/JSON, after the run has ended: `createRunlet({ traces: otlp({ url }) })`. A target
 * that is down gets the traces later, for three days at most. Throws `not_configured` for a wrong option.
 */
export function otlp(options: OtlpOptions): TraceExporter {
	blameCaller(otlp, () => {
		assertKnownFields(options, optionNames, { code: 'not_configured', owner: 'otlp' });
		check(schema, options, 'otlp', 'not_configured');
	});
	const { url, headers = {}, content = false, service } = options;
	const findTarget = (env: Env) => {
		const found = typeof url === 'function' ? url(env) : url;
		return found === undefined || found === ''
			? undefined
			: { url: found, headers: typeof headers === 'function' ? headers(env) : headers };
	};
	return { open: (session) => new SessionExporter({ ...session, findTarget, hasContent: content, service }) };
}
