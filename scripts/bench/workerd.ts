import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import * as v from 'valibot';
import { resolveInProject } from '../../src/command/project.ts';
import { findWrangler } from '../../src/command/wrangler.ts';
import type { Bundle } from './bundle.ts';

/** The bindings of a Worker. */
export interface Bindings {
	/** Classes of Durable Objects by the names of their bindings. */
	readonly objects?: Readonly<Record<string, string>>;
	readonly texts: Readonly<Record<string, string>>;
}

/** A workerd that serves one Worker, without a development server. */
export interface Workerd {
	readonly url: string;
	readonly pid: number;
	/** The port of its inspector, where its memory is measured. */
	readonly inspector: number | undefined;
	/** Ends the process. Later calls do nothing. */
	readonly close: () => Promise<void>;
}

/** The path of workerd, found through Miniflare as Wrangler does. */
const path = resolveInProject('workerd', resolveInProject('miniflare', findWrangler()));
const program = v.parse(v.object({ default: v.string() }), createRequire(path)(path)).default;

const listening = v.object({ event: v.picklist(['listen', 'listen-inspector']), port: v.number() });
type Ports = Partial<Record<v.InferOutput<typeof listening>['event'], number>>;

/**
 * Starts a workerd. Its objects are stored in a folder that is removed at its end.
 *
 * @param isWeighed whether its memory is measured: its code can then collect garbage, and it has an inspector
 */
export async function startWorkerd(bundle: Bundle, bindings: Bindings, isWeighed: boolean): Promise<Workerd> {
	const folder = await mkdtemp(join(dirname(bundle.main), 'served-'));
	const config = join(folder, 'config.capnp');
	await writeFile(config, toConfig(bundle, bindings, isWeighed ? ['--expose-gc'] : [], folder));
	const inspected = isWeighed ? ['--inspector-addr=127.0.0.1:0'] : [];
	const child = spawn(program, ['serve', '--experimental', '--control-fd=3', ...inspected, config], {
		stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
	});
	const stop = () => child.kill('SIGKILL');
	process.on('exit', stop);
	const ports = await readPorts(child, 1 + inspected.length);
	return {
		url: `http://127.0.0.1:${ports.listen}`,
		pid: child.pid ?? 0,
		inspector: ports['listen-inspector'],
		close: async () => {
			process.off('exit', stop);
			stop();
			if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
			await rm(folder, { recursive: true, force: true });
		},
	};
}

async function readPorts(child: ChildProcess, count: number): Promise<Ports> {
	const control = child.stdio[3];
	if (!(control instanceof Readable)) throw new Error('workerd has no channel that says where it listens');
	const ports: Ports = {};
	for await (const line of createInterface({ input: control })) {
		const said = v.safeParse(listening, JSON.parse(line));
		if (said.success) ports[said.output.event] = said.output.port;
		if (Object.keys(ports).length === count) return ports;
	}
	throw new Error('workerd ended before it listened');
}

/** Writes the configuration (https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp). */
function toConfig(
	{ main, date, flags }: Bundle,
	{ objects = {}, texts }: Bindings,
	v8Flags: readonly string[],
	folder: string,
): string {
	const list = (items: readonly string[]) => `[${items.join(', ')}]`;
	const text = (value: string) => JSON.stringify(value);
	const classes = Object.values(objects);
	return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		(name = "main", worker = .main),
		(name = "internet", network = (allow = ["public", "private"])),
		(name = "disk", disk = (path = ${text(folder)}, writable = true)),
	],
	v8Flags = ${list(v8Flags.map(text))},
	sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
	modules = [(name = ${text(basename(main))}, esModule = embed ${text(`../${basename(main)}`)})],
	compatibilityDate = ${text(date)},
	compatibilityFlags = ${list(flags.map(text))},
	bindings = ${list([
		...Object.entries(texts).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
		...Object.entries(objects).map(([name, of]) => `(name = ${text(name)}, durableObjectNamespace = ${text(of)})`),
	])},
	durableObjectNamespaces = ${list(classes.map((name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`))},
	durableObjectStorage = (localDisk = "disk"),
);
`;
}
