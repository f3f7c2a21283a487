import { RunletError } from '../../core/base/errors.ts';
import type { SkillsNamespace } from '../../core/skill/kv/layout.ts';
import { reach, usualLimitMs } from '../objects/reach.ts';
import type { WorkerEnv } from './env.ts';

/** How a binding is recognised, and how `wrangler.toml` makes it. */
interface Kind {
	readonly what: string;
	/** Methods that a binding of another kind has not. */
	readonly methods: readonly string[];
	/** The lines of `wrangler.toml`, written as one. */
	readonly toml: (name: string) => string;
}

/** The bindings by their default names. */
const kinds = {
	SESSIONS: createObjectKind('Session'),
	LEDGERS: createObjectKind('Ledger'),
	DIRECTORIES: createObjectKind('Directory'),
	PUBLISHERS: createObjectKind('Publisher'),
	MEMORIES: createObjectKind('Memory'),
	SKILLS: {
		what: 'a KV namespace',
		methods: ['get', 'put'],
		toml: (name) => `[[kv_namespaces]] with binding = "${name}"`,
	},
	PAGE: {
		what: 'static assets',
		methods: ['fetch'],
		toml: (name) => `[assets] with directory = "node_modules/runlet/dist/page", binding = "${name}"`,
	},
	FILES: {
		what: 'an R2 bucket',
		methods: ['get', 'put', 'createMultipartUpload'],
		toml: (name) => `[[r2_buckets]] with binding = "${name}", bucket_name = "runlet-files"`,
	},
	LOADER: {
		what: 'a Worker Loader',
		methods: ['load'],
		toml: (name) => `[[worker_loaders]] with binding = "${name}"`,
	},
	AI: { what: 'Workers AI', methods: ['run'], toml: (name) => `[ai] with binding = "${name}"` },
	METRICS: {
		what: 'a dataset of Analytics Engine',
		methods: ['writeDataPoint'],
		toml: (name) => `[[analytics_engine_datasets]] with binding = "${name}", dataset = "runlet"`,
	},
	RATE_LIMITER: {
		what: 'a rate limiter',
		methods: ['limit'],
		toml: (name) =>
			`[[ratelimits]] with name = "${name}", namespace_id = "8787", simple = { limit = 200, period = 10 }`,
	},
} as const satisfies { readonly [N in keyof WorkerEnv]?: Kind };

function createObjectKind(className: string): Kind {
	return {
		what: `the Durable Object ${className}`,
		methods: ['get', 'idFromName'],
		toml: (name) =>
			`[[durable_objects.bindings]] with name = "${name}", class_name = "${className}", and "${className}" in new_sqlite_classes of [[migrations]], or [exports.${className}] where the file has [exports]`,
	};
}

export type BindingName = keyof typeof kinds;

/** The default names. */
export const bindingNames: readonly BindingName[] = Object.keys(kinds).filter(
	(name): name is BindingName => name in kinds,
);

/** The project's own names of bindings, by the default names. */
export type BindingNames = { readonly [N in BindingName]?: string };

/**
 * Returns a binding if there is one. Throws `not_configured` if it is of another kind, such as a KV namespace in place of
 * a Durable Object; the message names it as the project does.
 */
export function findBinding<N extends BindingName>(
	env: WorkerEnv,
	name: N,
	{ [name]: own = name }: BindingNames,
): WorkerEnv[N] {
	const binding = env[name];
	const { what, methods, toml }: Kind = kinds[name];
	if (binding === undefined || methods.every((method) => hasMethod(binding, method))) return binding;
	throw new RunletError('not_configured', `${own}: this binding is not ${what}. In wrangler.toml: ${toml(own)}.`);
}

/** Returns a binding. Throws `not_configured` if it is missing or of another kind. */
export function readBinding<N extends BindingName>(
	env: WorkerEnv,
	name: N,
	names: BindingNames,
): NonNullable<WorkerEnv[N]> {
	const binding = findBinding(env, name, names);
	if (binding != null) return binding;
	const { [name]: own = name } = names;
	throw new RunletError(
		'not_configured',
		`${own}: this binding is missing. Add to wrangler.toml: ${kinds[name].toml(own)}.`,
	);
}

function hasMethod(binding: object, method: string): boolean {
	return typeof Reflect.get(binding, method) === 'function';
}

/** A KV namespace whose calls all end: a call that hangs fails with `overloaded`. */
export function createLimitedKv(kv: SkillsNamespace, timeoutMs = usualLimitMs): SkillsNamespace {
	const what = 'KV';
	const once = <T>(call: () => PromiseLike<T>): Promise<T> => reach(call, { what, isSafe: false, timeoutMs });
	function get(key: string, type: 'json'): Promise<unknown>;
	function get(key: string): Promise<string | null>;
	function get(key: string, type?: 'json'): Promise<unknown> {
		return once<unknown>(() => (type === undefined ? kv.get(key) : kv.get(key, type)));
	}
	return {
		get,
		list: (options) => once(() => kv.list(options)),
		put: (key, value) => once(() => kv.put(key, value)),
		delete: (key) => once(() => kv.delete(key)),
	};
}
