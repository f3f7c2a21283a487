import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import * as v from 'valibot';
import { root } from '../root.ts';
import { writeChanged } from '../write-changed.ts';

/**
 * What of the SDKs no provider here asks for, most of their code: the routes of their APIs (an adapter names its
 * own), streams and other answers (it reads them itself), pages of lists, uploads, queries, regions, logins other than by
 * a key, and traces. An option asks for each, and no option here does. Functions that return nothing stand in their place.
 */
const unused = [
	/\/(openai|@anthropic-ai\/sdk)\/resources\/.*(?<!\/index)\.mjs$/,
	/\/openai\/(core\/(pagination|streaming)|auth\/workload-identity-auth|internal\/(data-residency|provider))\.mjs$/,
	/\/openai\/internal\/auth\/x509-(api-origin|transport-state|workload-identity-auth)\.mjs$/,
	/\/@anthropic-ai\/sdk\/(core\/(pagination|streaming)|internal\/tracing|lib\/internal\/tracing)\.mjs$/,
	/\/@anthropic-ai\/sdk\/(lib\/credentials\/(credential-chain|token-cache|types)|internal\/request-signal)\.mjs$/,
	/\/@opentelemetry\/api\//,
	/\/(openai|@anthropic-ai\/sdk)\/internal\/(parse|to-file|uploads|utils\/query)\.mjs$/,
];

/**
 * What stands in the place of modules whose functions are called, with what they do under the options of the adapters:
 * nothing is logged or said of the machine, the fetch of an adapter throws what a provider refuses, and nothing stands
 * in front of that fetch. Headers are collected in a map, because a request has them five times before it is sent, and an
 * object `Headers` is one of the runtime's own each time.
 */
const replaced = [
	[
		/\/(openai|@anthropic-ai\/sdk)\/internal\/headers\.mjs$/,
		`class HeaderMap extends Map {
			get(name) {
				return super.get(name.toLowerCase()) ?? null;
			}
			has(name) {
				return super.has(name.toLowerCase());
			}
		}
		const listPairs = (source) => {
			if (source.nulls !== undefined) return [...source.values, ...[...source.nulls].map((name) => [name, null])];
			return Symbol.iterator in source ? source : Object.entries(source);
		};
		export const buildHeaders = (sources) => {
			const built = { values: new HeaderMap(), nulls: new Set() };
			for (const source of sources) {
				for (const [name, value] of source ? listPairs(source) : []) {
					const key = name.toLowerCase();
					if (value === null) {
						built.values.delete(key);
						built.nulls.add(key);
					} else if (value !== undefined) {
						built.values.set(key, String(value));
						built.nulls.delete(key);
					}
				}
			}
			return built;
		};`,
	],
	[
		/\/(openai|@anthropic-ai\/sdk)\/internal\/utils\/log\.mjs$/,
		`const nothing = () => {};
		const logger = { error: nothing, warn: nothing, info: nothing, debug: nothing };
		export const loggerFor = () => logger;
		export { nothing as debugLogRequestDetails, nothing as formatRequestDetails, nothing as parseLogLevel, nothing as redactURL };
		export const defaultLogLevel = 'off';`,
	],
	[
		/\/openai\/internal\/auth\/x509-credential-options\.mjs$/,
		`export const normalizeX509CredentialOptions = (options) => ({ options });
		export const prepareX509ClientClone = () => ({});`,
	],
	[
		/\/openai\/internal\/realtime-credentials\.mjs$/,
		`export const resolveRealtimeAPIKey = async ({ apiKey }) => ({ apiKey });
		const nothing = () => {};
		export { nothing as getDeferredRealtimeAPIKeyCache, nothing as validateCapturedAPIKey };`,
	],
	[
		/\/(openai|@anthropic-ai\/sdk)\/internal\/detect-platform\.mjs$/,
		`export const getPlatformHeaders = () => ({});
		export const isRunningInBrowser = () =>
			typeof window !== 'undefined' && typeof window.document !== 'undefined' && typeof navigator !== 'undefined';`,
	],
	[/\/@anthropic-ai\/sdk\/core\/error-classes\.mjs$/, 'export const ERROR_CODE_CLASSES = new Map();'],
	[
		/\/@anthropic-ai\/sdk\/core\/middleware\.mjs$/,
		`export const wrapFetchWithMiddleware = (fetch) => fetch;
		export const isFetchOriginError = () => true;
		export const isRetryableError = () => false;`,
	],
] as const;

/**
 * What modules have for lists, tries, copies of a client, sockets, parsed answers, and logins other than by a key; and for
 * errors by status, because the fetch of an adapter throws what a provider refuses.
 */
const unusedMethods = [
	[
		/\/openai\/client\.mjs$/,
		[
			...['_buildWebSocketHeaders', '_callApiKey', 'calculateDefaultRetryTimeoutMillis', 'getAPIList'],
			...['makeStatusError', 'parseResponseWithTimeout', 'readX509ResponseError', 'requestAPIList', 'retryRequest'],
			...['shouldRetry', 'withOptions'],
		],
	],
	[
		/\/@anthropic-ai\/sdk\/client\.mjs$/,
		[
			...['_applyCredentialBaseURL', '_calculateNonstreamingTimeout', '_credentialResolverOptions'],
			...['_credentialsFetch', '_makeTokenCache', '_resolveDefaultCredentials', 'calculateDefaultRetryTimeoutMillis'],
			...['calculateNonstreamingTimeout', 'getAPIList', 'makeStatusError', 'makeTracedRequest', 'requestAPIList'],
			...['retryRequest', 'shouldRetry', 'withOptions'],
		],
	],
	[/\/@anthropic-ai\/sdk\/core\/api-promise\.mjs$/, ['_thenUnwrap', 'parseResponseTraced', 'withResponse']],
	[/\/openai\/core\/api-promise\.mjs$/, ['_thenUnwrap', 'withResponse']],
	[/\/(openai|@anthropic-ai\/sdk)\/core\/error\.mjs$/, ['static generate']],
] as const;

/** The method that sends a request. Here the loop limits the time of each, and its signal is the one that ends them. */
const send = `
	async fetchWithTimeout(url, { method, ...init }) {
		return this.fetch.call(undefined, url, { ...init, method: method.toUpperCase() });
	}`;

/** The statements of clients that write logs, with what stands in them, and those that hang resources and errors on a client. */
const unusedStatements = [
	/^ *(?:loggerFor\(this\)\.\w+|debugLogRequestDetails)\(.*?\);$/gms,
	/^ *const (?:specialHeaders|responseInfo) = .*?;$/gms,
	/^ *this\.logger = .+;$/gm,
	/^ *this\.\w+ = new API\.\w+\(this\);$/gm,
	/^ *(?:OpenAI|BaseAnthropic)\.(?!DEFAULT_TIMEOUT)\w+ = .+;$/gm,
] as const;

/** What is used of the SDKs: a client each, which becomes a file in `build/sdk`. wrangler.toml names them. */
export const sdks = {
	openai: { module: 'openai/client', client: 'OpenAI' },
	anthropic: { module: '@anthropic-ai/sdk/client', client: 'BaseAnthropic' },
} as const;

/**
 * Writes the SDKs without what is unused, for the Worker of this repository and for tests: they run what is shipped. What
 * was written from the same versions by the same rules stays, because every start asks for it.
 */
export async function buildSdks(folder = join(root, 'build/sdk')): Promise<void> {
	mkdirSync(folder, { recursive: true });
	const rules = createHash('sha256')
		.update(readFileSync(import.meta.filename))
		.digest('hex')
		.slice(0, 16);
	const builds = Object.entries(sdks).map(async ([name, { module, client }]) => {
		const file = join(folder, `${name}.js`);
		const mark = `// ${module} ${readVersion(module)}, rules ${rules}\n`;
		if (existsSync(file) && readFileSync(file, 'utf8').startsWith(mark)) return;
		const { outputFiles } = await build({
			stdin: { contents: `export { ${client} } from '${module}';`, resolveDir: root },
			...copyOptions,
			write: false,
			logLevel: 'warning',
		});
		for (const { text } of outputFiles) writeChanged(file, Buffer.from(mark + text));
	});
	await Promise.all(builds);
}

const manifest = v.object({ version: v.string() });

/** Returns the version of the package that a module is in. */
function readVersion(module: string): string {
	const file = join(root, 'node_modules', dirname(module), 'package.json');
	return v.parse(manifest, JSON.parse(readFileSync(file, 'utf8'))).version;
}

/** Leaves out of a bundle what is unused of the SDKs. */
const withoutUnused: Plugin = {
	name: 'without-unused',
	setup(bundle) {
		// OpenAI's package does not say that its modules do nothing when they are loaded.
		bundle.onResolve({ filter: /^\./ }, ({ path, importer }) =>
			/\/node_modules\/openai\//.test(toSlashes(importer))
				? { path: join(dirname(importer), path), sideEffects: false }
				: undefined,
		);
		bundle.onLoad({ filter: /[\\/]node_modules[\\/](openai|@anthropic-ai|@opentelemetry)[\\/]/ }, async ({ path }) => {
			const [, contents] = replaced.find(([pattern]) => pattern.test(toSlashes(path))) ?? [];
			if (contents !== undefined) return { contents };
			const [, methods] = unusedMethods.find(([pattern]) => pattern.test(toSlashes(path))) ?? [];
			if (methods !== undefined) return { contents: cut(readFileSync(path, 'utf8'), methods) };
			if (!unused.some((pattern) => pattern.test(toSlashes(path)))) return undefined;
			return { contents: (await listExports(path)).map(toEmpty).join('\n') };
		});
	},
};

/**
 * Removes methods from code, what it logs, and the branches for a login by a certificate, and shortens how a client sends a
 * request. Throws if a method is not there.
 */
function cut(code: string, methods: readonly string[]): string {
	let rest = code.replace(/\bconst x509Authentication = [^;]+;/g, '').replace(/\bx509Authentication\b/g, 'undefined');
	for (const statement of unusedStatements) rest = rest.replace(statement, '');
	// What hides secrets in logs stands last in the class.
	rest = rest.replace(/\}, _OpenAI_isSensitiveLogKey = .*?\n\};/s, '};');
	// The signal of a request is the loop's, so a request needs none of its own. Answers are told apart by this object.
	rest = rest.replace(/\bconst controller = .*?;$/gms, 'const controller = {};');
	for (const name of methods) rest = rest.replace(findMethod(rest, name), () => '');
	return rest.includes('fetchWithTimeout(') ? rest.replace(findMethod(rest, 'fetchWithTimeout'), () => send) : rest;
}

function findMethod(code: string, name: string): string {
	const [method] = new RegExp(`\\n( +)(?:async )?${name}\\(.*\\) \\{\\n[^]*?\\n\\1\\}`).exec(code) ?? [];
	if (method === undefined) throw new Error(`scripts/pack/sdks.ts: no method ${name}`);
	return method;
}

/** As Wrangler takes a package: what needs Node is left out. */
export const copyOptions = {
	bundle: true,
	format: 'esm',
	platform: 'browser',
	conditions: ['workerd', 'worker'],
	target: 'es2022',
	charset: 'utf8',
	plugins: [withoutUnused],
} as const satisfies BuildOptions;

function toSlashes(path: string): string {
	return path.replaceAll('\\', '/');
}

/** A function may be a class too. */
function toEmpty(name: string): string {
	return `export ${name === 'default' ? 'default ' : ''}function ${name === 'default' ? '' : name}() {}`;
}

async function listExports(path: string): Promise<readonly string[]> {
	const { metafile } = await build({
		entryPoints: [path],
		outdir: 'none',
		format: 'esm',
		metafile: true,
		write: false,
	});
	return Object.values(metafile.outputs).flatMap(({ exports }) => exports);
}
