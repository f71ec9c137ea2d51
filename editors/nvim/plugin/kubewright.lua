-- Neovim before 0.11: starts the server for YAML files. Put the folder editors/nvim on the runtime path.
if vim.fn.has('nvim-0.11') == 1 then
  return
end

-- Returns the folder of the project that a file belongs to.
local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local found = vim.fn.findfile('kubewright.yaml', folder .. ';')
  if found == '' then
    found = vim.fn.finddir('.git', folder .. ';')
  end
  return found == '' and folder or vim.fn.fnamemodify(found, ':p:h'):gsub('/%.git$', '')
end

local clients = {}

-- Starts a server for the project of a buffer, or uses the one that runs.
local function attach(buffer, file)
  local root = root_of(file)
  if not clients[root] then
    clients[root] = vim.lsp.start_client({
      name = 'kubewright',
      cmd = { vim.g.kubewright_path or 'kubewright', 'lsp' },
      root_dir = root,
      on_exit = function()
        clients[root] = nil
      end,
    })
  end
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
end

vim.api.nvim_create_autocmd('FileType', {
  pattern = 'yaml',
  callback = function(event)
    attach(event.buf, event.match == 'yaml' and vim.api.nvim_buf_get_name(event.buf) or event.file)
  end,
})
