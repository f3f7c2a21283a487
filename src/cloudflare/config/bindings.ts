import { RunletError } from '../../core/base/errors.ts';
import type { SkillsNamespace } from '../../core/skill/kv/layout.ts';
import { reach, usualLimitMs } from '../objects/reach.ts';
import type { WorkerEnv } from './env.ts';

interface Kind {
	readonly what: string;
	/** Methods that only this kind of binding has. */
	readonly methods: readonly string[];
	/** The lines of `wrangler.toml` as one text. */
	readonly toml: (name: string) => string;
}

/** The kind of each binding, by its default name. */
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

export const bindingNames: readonly BindingName[] = Object.keys(kinds).filter(
	(name): name is BindingName => name in kinds,
);

/** The project's own name of each binding, by its default name. */
export type BindingNames = { readonly [N in BindingName]?: string };

/** Throws `not_configured` for a binding of the wrong kind, such as a KV namespace instead of a Durable Object. */
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

/** A KV namespace whose calls fail with `overloaded` instead of hanging. */
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
