import type { UploadHolder } from '../agent/upload-connector.ts';
import type { Config } from '../config/config.ts';
import { type RpcResult, reach, takeValue, usualLimitMs } from '../objects/reach.ts';
import { nameUploads } from '../objects/shards.ts';
import type { UploadApi, UploadContent } from '../objects/upload-api.ts';
import { maxUpload } from '../wire/protocols/files/schema.ts';

/** Calls the object with the files of an owner. Throws if the answer is a failure. */
export async function changeUploads<T>(
	{ directories }: Pick<Config, 'directories'>,
	{ owner }: Pick<UploadHolder, 'owner'>,
	ask: (one: UploadApi) => Promise<RpcResult<T>>,
): Promise<T> {
	const call = () => ask(directories.get(directories.idFromName(nameUploads(owner))));
	return takeValue(await reach(call, { what: 'The files of this owner', isSafe: true, timeoutMs: usualLimitMs }));
}

const atOnce = 100;

/** Reads all files of a holder, the oldest first. */
export async function* listAllUploads(config: Config, { owner, user }: UploadHolder): AsyncGenerator<UploadContent> {
	let after: string | undefined;
	for (;;) {
		const query = { user, after, limit: atOnce, isOldestFirst: true };
		const page = await changeUploads(config, { owner }, (one) => one.listUploads(query));
		for (const { id } of page)
			yield* await changeUploads(config, { owner }, (one) => one.readUploads(user, [id], maxUpload));
		if (page.length < atOnce) return;
		after = page.at(-1)?.id;
	}
}
