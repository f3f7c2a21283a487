/** Storage that counts the rows which are read and written through it. */
export function counted(storage: DurableObjectStorage) {
	const cursors: { readonly rowsRead: number; readonly rowsWritten: number }[] = [];
	const sql = new Proxy(storage.sql, {
		get:
			(target) =>
			(...query: Parameters<SqlStorage['exec']>) => {
				const cursor = target.exec(...query);
				cursors.push(cursor);
				return cursor;
			},
	});
	const counting = new Proxy(storage, {
		get: (target, name) => (name === 'sql' ? sql : Reflect.get(target, name).bind(target)),
	});
	return {
		storage: counting,
		/** The rows since it was asked the last time. */
		rows: () => {
			const all = cursors.splice(0);
			const sum = (field: 'rowsRead' | 'rowsWritten') => all.reduce((total, cursor) => total + cursor[field], 0);
			return { read: sum('rowsRead'), written: sum('rowsWritten') };
		},
	};
}
