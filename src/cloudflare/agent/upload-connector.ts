import type { Config } from '../config/config.ts';
import type { UploadContent, Uploads } from '../objects/upload-api.ts';

/** The owner of uploaded files, and the user among the owner's users. */
export interface UploadHolder {
	readonly owner: string;
	readonly user?: string;
}

export interface UploadsOptions {
	readonly storage: DurableObjectStorage;
	readonly config: () => Pick<Config, 'files' | 'roomLimits' | 'workspaceQuota'>;
	/** In milliseconds since 1970. */
	readonly now: () => number;
}

/** The interface of the plugin `files`. A Worker without the plugin contains none of its code. */
export interface UploadConnector {
	/** Opens the files of an owner, in an object of the class `Directory`. */
	open(options: UploadsOptions): Uploads;
	/**
	 * Puts the files that a request names by their ids into its JSON. Throws `not_found`, which names the field, if the
	 * holder has no such file, and `too_large` if the body would have too many bytes.
	 */
	fill(config: Config, holder: UploadHolder, body: unknown, bodyBytes: number): Promise<void>;
	/** Reads all files of a holder. */
	listAll(config: Config, holder: UploadHolder): AsyncIterable<UploadContent>;
	erase(config: Config, holder: UploadHolder): Promise<void>;
}
