import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { root } from '../project.ts';

export interface WatchOptions {
	/** Wrangler's configuration. */
	readonly config: string;
	/** Called when a file of the Worker was saved. A running Wrangler sees it too. */
	readonly onSource: (savedAt: number) => void;
	/** Called shortly after the last of several TypeScript files was saved. */
	readonly onTypeScript: () => void;
	/** Called with the name of a saved file of variables. */
	readonly onVariables: (file: string) => void;
	readonly onSkills: () => void;
}

/** Editors write a file in several steps. */
const settleMs = 150;
/** Saves often come in groups. */
const typesSettleMs = 1_000;

/** Watches files that Wrangler does not watch, and those of the Worker while Wrangler is down. */
export function watchFiles({ config, onSource, onTypeScript, onVariables, onSkills }: WatchOptions): void {
	const source = settle((_, savedAt) => onSource(savedAt));
	const variables = settle(onVariables);
	const skills = settle(onSkills);
	const types = settle(onTypeScript, typesSettleMs);
	follow(join(root, 'src'), true, (file) => {
		source(file);
		// The system does not always report the file name.
		if (file === '' || /\.[cm]?ts$/.test(file)) types(file);
	});
	follow(join(root, 'skills'), true, skills);
	follow(root, false, (file) => {
		if (/^\.(dev\.vars|env)(\.[\w.-]+)?$/.test(file)) variables(file);
		if (file === 'package.json' || /^[^.].*\.[cm]?[jt]s$|^tsconfig\.json$/.test(file)) source(file);
		if (file === 'tsconfig.json') types(file);
		// The file was created or moved away.
		if (file === 'skills') {
			follow(join(root, 'skills'), true, skills);
			skills(file);
		}
	});
	follow(dirname(config), false, (file) => {
		if (file === basename(config)) source(file);
	});
}

/** Calls back shortly after a file of a folder was saved. */
export function watchFolder(folder: string, onSave: () => void): void {
	follow(folder, true, settle(onSave));
}

const followed = new Map<string, FSWatcher>();

/** Reports nothing if the folder does not exist or cannot be watched. */
function follow(folder: string, recursive: boolean, onChange: (file: string) => void): void {
	const key = `${folder} ${recursive}`;
	followed.get(key)?.close();
	try {
		const watcher = watch(folder, { recursive, persistent: false }, (_, file) => onChange(file ?? ''));
		watcher.on('error', () => {});
		if (folder !== root) followed.set(key, watcher);
	} catch {
		followed.delete(key);
	}
}

function settle(call: (file: string, savedAt: number) => void, ms = settleMs): (file: string) => void {
	let timer: NodeJS.Timeout | undefined;
	return (file) => {
		const savedAt = Date.now();
		clearTimeout(timer);
		timer = setTimeout(() => call(file, savedAt), ms);
	};
}
